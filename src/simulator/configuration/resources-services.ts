import { checkbox, emailAddr, int, passwd, peer, radio, text } from './field.ts';
import type { ResourceDefinition } from './resource.ts';

const PORT_MAX = 65_535;

/** Services of the router for its network, and its reactions to events. */
export const serviceResources: readonly ResourceDefinition[] = [
  {
    path: 'services/dhcp_server',
    unique: [],
    list: {
      indexPrefix: 'dhcp',
      fields: [
        checkbox('active', '1'),
        text('interface', { required: true }),
        peer('first_address', { required: true }),
        peer('last_address', { required: true }),
        int('lease_time', 60, 604_800, 3600),
      ],
      fresh: [{ fields: { interface: 'net1', first_address: '192.168.1.100', last_address: '192.168.1.199' } }],
    },
  },
  {
    path: 'services/dns',
    unique: [checkbox('active', '1')],
    list: { indexPrefix: 'server', fields: [peer('server', { required: true })], fresh: [] },
  },
  {
    path: 'services/snmpd',
    unique: [checkbox('active'), int('port', 1, PORT_MAX, 161), passwd('community', { default: 'public' })],
  },
  {
    path: 'services/mcip',
    unique: [checkbox('active'), int('port', 1, PORT_MAX, 4424)],
  },
  {
    path: 'events/email_account',
    unique: [
      emailAddr('address'),
      text('real_name'),
      peer('server'),
      radio('encryption', ['none', 'ssl', 'starttls'], { default: 'starttls' }),
      checkbox('verify_peer', ''),
      checkbox('verify_host', ''),
      int('port', 1, PORT_MAX, 25),
      text('username'),
      passwd('password'),
    ],
  },
  {
    path: 'events/event_config',
    unique: [],
    list: {
      indexPrefix: 'event',
      fields: [
        checkbox('active', '1'),
        text('description'),
        radio('event', ['ev_config', 'ev_timer', 'ev_modem_state', 'ev_sms']),
        radio('action', ['act_info_led', 'act_ntp_sync', 'act_reboot']),
      ],
      fresh: [
        { fields: { event: 'ev_modem_state', action: 'act_info_led' } },
        { fields: { event: 'ev_timer', action: 'act_ntp_sync' } },
      ],
    },
  },
  {
    path: 'events/contacts',
    unique: [],
    list: {
      indexPrefix: 'contact',
      key: 'name',
      fields: [text('name'), emailAddr('email'), text('phone_number', { maxLen: 30 })],
      fresh: [{ fields: { name: 'on-call', email: 'on-call@example.com' } }],
    },
  },
  {
    path: 'events/messages',
    unique: [],
    list: {
      indexPrefix: 'message',
      key: 'name',
      fields: [
        text('name'),
        radio('type', ['email', 'sms', 'snmp_trap', 'mcip', 'http_request']),
        text('contact'),
        text('subject'),
        text('text', { maxLen: 5000 }),
      ],
      fresh: [{ fields: { name: 'link lost', contact: 'on-call', subject: 'Link lost' } }],
    },
  },
  {
    path: 'events/timer',
    unique: [],
    list: {
      indexPrefix: 'timer',
      key: 'name',
      fields: [text('name'), int('interval', 1, 525_600, 60)],
      fresh: [{ fields: { name: 'hourly' } }],
    },
  },
];
