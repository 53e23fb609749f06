import { checkbox, int, passwd, peer, type ResourceDefinition, radio, text } from './resource.ts';

const PORT_MAX = 65_535;
const CHECK_TYPES = ['none', 'ping', 'dns', 'link'];

/** Interfaces, WAN chains, routes and filters. */
export const networkResources: readonly ResourceDefinition[] = [
  {
    path: 'wan/wans',
    unique: [],
    list: {
      indexPrefix: 'wan',
      fields: [checkbox('active', '1'), text('description')],
      sublist: [
        text('interface', { required: true }),
        int('check_interval', 0, 3600, 15),
        text('check_fail_wan', { default: '---' }),
        radio('check_type', CHECK_TYPES),
      ],
      fresh: [
        {
          fields: { description: 'cellular' },
          sublist: [
            { interface: 'lte2', check_interval: '15', check_fail_wan: 'wan2', check_type: 'ping' },
            { interface: 'ipsec1', check_interval: '15', check_fail_wan: 'wan2' },
          ],
        },
        { fields: { description: 'fallback' }, sublist: [{ interface: 'net2', check_fail_wan: 'wan1' }] },
      ],
    },
  },
  {
    path: 'interfaces/ip_nets',
    unique: [],
    list: {
      indexPrefix: 'net',
      fields: [
        checkbox('active', '1'),
        text('description'),
        radio('mode', ['static', 'dhcp', 'dhcp6']),
        int('mtu', 576, 9000, 1500),
      ],
      sublist: [text('ip_address', { required: true })],
      fresh: [
        { fields: { description: 'LAN' }, sublist: [{ ip_address: '192.168.1.1/24' }] },
        { fields: { description: 'WAN', mode: 'dhcp' }, sublist: [] },
      ],
    },
  },
  {
    path: 'interfaces/lte2',
    card: 'lte2',
    unique: [
      checkbox('active', '1'),
      passwd('pin', { maxLen: 8 }),
      text('apn', { default: 'internet' }),
      text('username'),
      passwd('password'),
      radio('net', ['auto', '2g', '3g', '4g']),
    ],
  },
  {
    path: 'interfaces/ipsec',
    unique: [checkbox('active', '1')],
    list: {
      indexPrefix: 'ipsec',
      fields: [checkbox('active', '1'), text('description'), peer('remote_host'), passwd('psk', { maxLen: 255 })],
      sublist: [text('local_subnet', { required: true }), text('remote_subnet', { required: true })],
      fresh: [
        {
          fields: { description: 'headquarters', remote_host: 'vpn.example.com', psk: 'not-a-secret' },
          sublist: [{ local_subnet: '192.168.1.0/24', remote_subnet: '10.0.0.0/16' }],
        },
      ],
    },
  },
  {
    path: 'interfaces/openvpn',
    unique: [],
    list: {
      indexPrefix: 'openvpn',
      fields: [
        checkbox('active', '1'),
        text('description'),
        radio('mode', ['client', 'server']),
        peer('remote_host'),
        int('port', 1, PORT_MAX, 1194),
        radio('protocol', ['udp', 'tcp']),
      ],
      fresh: [{ fields: { description: 'service', remote_host: 'service.example.com' } }],
    },
  },
  {
    // A fresh router has none; the first is called wg1.
    path: 'interfaces/wireguard',
    unique: [],
    list: { indexPrefix: 'wg', fields: [checkbox('active', '1'), text('description')] },
  },
  {
    path: 'routing/static_routes',
    unique: [],
    list: {
      indexPrefix: 'route',
      fields: [
        checkbox('active', '1'),
        text('description'),
        text('destination', { required: true }),
        peer('gateway'),
        text('interface'),
        int('metric', 0, 9999, 0),
      ],
      fresh: [{ fields: { destination: '10.20.0.0/16', gateway: '192.168.1.254' } }],
    },
  },
  {
    path: 'netfilter/ip_filter',
    unique: [checkbox('active_ipv4', '1'), checkbox('active_ipv6', '1')],
    list: {
      indexPrefix: 'rule',
      fields: [
        checkbox('active', '1'),
        text('description'),
        radio('direction', ['input', 'output', 'forward']),
        radio('protocol', ['all', 'tcp', 'udp', 'icmp', 'esp']),
        text('input_interface'),
        text('dst_port', { maxLen: 11 }),
      ],
      fresh: [
        {
          fields: {
            description: 'web and REST interface',
            protocol: 'tcp',
            input_interface: 'net1',
            dst_port: '80,443',
          },
        },
        { fields: { description: 'DNS', protocol: 'udp', input_interface: 'net1', dst_port: '53' } },
        { fields: { description: 'LAN to outside', direction: 'forward', input_interface: 'net1' } },
      ],
    },
  },
  ...['dnat', 'snat'].map((kind) => ({
    path: `netfilter/nat/${kind}`,
    unique: [],
    list: {
      indexPrefix: 'rule',
      fields: [
        checkbox('active', '1'),
        text('description'),
        radio('protocol', ['all', 'tcp', 'udp']),
        text('dst_port', { maxLen: 11 }),
        peer('target'),
        int('target_port', 1, PORT_MAX, ''),
      ],
      fresh: kind === 'snat' ? [{ fields: { description: 'masquerade' } }] : [],
    },
  })),
];
