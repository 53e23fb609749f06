import { checkbox, emailAddr, int, passwd, peer, type ResourceDefinition, radio, text } from './resource.ts';
import { networkResources } from './resources-network.ts';

const PORT_MAX = 65_535;

const administrationResources: readonly ResourceDefinition[] = [
  {
    path: 'administration/webinterface',
    unique: [
      checkbox('http_active'),
      checkbox('https_active', '1'),
      int('http_port', 1, PORT_MAX, 80),
      int('https_port', 1, PORT_MAX, 443),
      text('https_cert', { default: 'device_cert' }),
      text('https_key', { default: 'device_key' }),
      // Minutes without activity until a session ends.
      int('session_timeout', 6, 3600, 15),
      checkbox('default_log_reverse', '1'),
      radio('default_language', ['de', 'en', 'es', 'fr', 'it']),
      int('default_refresh_interval', 0, 3600, 0),
      int('default_log_lines', 1, 10_000, 40),
      checkbox('active_https', '1'),
      checkbox('active_clientauth'),
      text('https_clientauth_ca', { default: '---' }),
      text('https_clientauth_crl', { default: '---' }),
      radio('https_clientauth_group', ['read', 'readwrite', 'status']),
      text('https_ca', { default: 'device_ca' }),
      checkbox('log_requests'),
      // Seconds for which a failed login locks its user name.
      int('login_timeout', 0, 3600, 3),
    ],
  },
  {
    path: 'administration/users',
    unique: [checkbox('password_hashes')],
    list: {
      indexPrefix: 'user',
      nameKey: 'index',
      key: 'username',
      fields: [
        checkbox('active', '1'),
        text('username', { required: true }),
        passwd('password', { required: true, writeOnly: true, maxLen: 106 }),
        radio('group', ['read', 'readwrite', 'status']),
      ],
      fresh: [
        { fields: { username: 'admin', password: 'simulated', group: 'readwrite' } },
        { fields: { username: 'monitor', password: 'simulated', group: 'read' } },
        { fields: { username: 'status', password: 'simulated', group: 'status' } },
      ],
    },
  },
  {
    // Single values for the router itself, and a list of names for other hosts.
    path: 'administration/hostnames',
    unique: [text('hostname'), text('domainname'), text('location'), text('device_note', { maxLen: 1000 })],
    list: {
      indexPrefix: 'host',
      fields: [peer('hostname', { required: true }), peer('ip_address', { required: true })],
      fresh: [{ fields: { hostname: 'plc', ip_address: '192.168.1.20' } }],
    },
  },
  {
    path: 'administration/time',
    unique: [
      text('timezone', { default: 'Regensburg' }),
      peer('ntp_peer', { default: '0.pool.ntp.org' }),
      peer('ntp_peer2'),
    ],
  },
  {
    path: 'administration/logging',
    unique: [
      checkbox('active'),
      peer('host'),
      int('port', 1, PORT_MAX, 514),
      radio('log_format', ['legacy', 'legacy_timestamp', 'rfc3164', 'rfc5424'], { default: 'rfc5424' }),
      radio('severity_level', ['emerg', 'alert', 'crit', 'err', 'warning', 'notice', 'info'], { default: 'info' }),
    ],
  },
  {
    path: 'administration/container',
    unique: [],
    list: {
      indexPrefix: 'container',
      key: 'name',
      fields: [
        checkbox('active', '1'),
        text('name'),
        text('description'),
        radio('group', ['status', 'read', 'readwrite']),
      ],
      sublist: [
        checkbox('storage_active', '1'),
        text('storage_path_src'),
        text('storage_path_dest'),
        radio('storage_perm', ['read', 'readwrite']),
      ],
      fresh: [
        {
          fields: { name: 'edge-reader', description: 'Reads the meter' },
          sublist: [{ storage_path_src: '/data', storage_path_dest: '/mnt/data' }],
        },
      ],
    },
  },
];

const serviceResources: readonly ResourceDefinition[] = [
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

/** All configuration resources of simulated routers, by path. Any other path is a 404. */
export const resourceTable: ReadonlyMap<string, ResourceDefinition> = new Map(
  [...administrationResources, ...networkResources, ...serviceResources].map((resource) => [resource.path, resource]),
);
