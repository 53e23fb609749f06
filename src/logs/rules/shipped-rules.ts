import type { LogRuleSettings } from './settings.ts';

// No lines of real routers are public. The patterns use words that such lines most likely contain, and texts of
// programs known to run on the routers (Linux, OpenVPN, strongSwan).

/** Lines of the web and REST servers contain request paths, which may hold any word. */
const WITHOUT_REQUESTS = ['*', '!httpd', '!restd'];
/** Tunnels and modems also log in, but not to the router. */
const WITHOUT_LINES_OF_LINKS = [
  ...WITHOUT_REQUESTS,
  '!modem*',
  '!lte*',
  '!ppp*',
  '!*vpn*',
  '!ipsec*',
  '!wireguard*',
  '!wg*',
];

const LOGIN = '(?:log[ -]?(?:in|on)s?|sign[ -]?in|authentication)';
const SUCCEEDED = 'succeeded|success|successful|successfully|accepted|granted';
const FAILED = 'failed|failure|denied|rejected|refused|invalid|incorrect|wrong|unsuccessful';
const SECRETS = `${LOGIN}|passwords?|credentials|access`;

const MODEM = String.raw`(?:\w+ (?:of|for) )?(?:modem|lte|umts|gsm|cellular)[\w.]*`;
/** Values of the modem status. */
const MODEM_STATES = 'turned off|turned on|sim interface down|logged (?:in|out|off)|logging in|offline|online';

/** WireGuard interfaces are `wg1`, `wg2`, …; others begin with the protocol name. */
const TUNNEL = String.raw`(?:(?:openvpn|vpn|ipsec|dmvpn|gre|l2tp|pptp|wireguard|tunnel)\w*|wg\d+)`;

const ROUTER = '(?:system|device|router)';

interface Rule {
  readonly name: string;
  readonly help: string;
  readonly components?: readonly string[];
  /** Alternatives. Case is ignored. */
  readonly patterns: readonly string[];
  readonly labels?: readonly string[];
  readonly fixed_labels?: Readonly<Record<string, string>>;
}

function counter({ name, help, components, patterns, labels = [], fixed_labels = {} }: Rule): LogRuleSettings {
  return {
    name,
    help: `${help} Inferred: the wording of such lines is not documented.`,
    type: 'counter',
    components: components ?? WITHOUT_REQUESTS,
    pattern: `(?i)(?:${patterns.join('|')})`,
    labels,
    fixed_labels,
  };
}

const LOGINS = { name: 'router_log_logins_total', help: 'Log lines about logins to the router, by result.' };
const VPN_CHANGES = {
  name: 'router_log_vpn_changes_total',
  help: 'Log lines about tunnels that came up or went down.',
};

/** The shipped log rules. */
export const SHIPPED_RULES: readonly LogRuleSettings[] = [
  counter({
    ...LOGINS,
    components: WITHOUT_LINES_OF_LINKS,
    patterns: [
      String.raw`\b${LOGIN}\b.*\b(?:${SUCCEEDED})\b`,
      String.raw`\bsuccessful(?:ly)? (?:${LOGIN}|logged (?:in|on)|authenticated)\b`,
      String.raw`\buser\b.*\b(?:logged|signed) (?:in|on)\b`,
      String.raw`\baccepted \S+ for\b`,
    ],
    fixed_labels: { result: 'success' },
  }),
  counter({
    ...LOGINS,
    components: WITHOUT_LINES_OF_LINKS,
    patterns: [
      String.raw`\b${LOGIN}\b.*\b(?:${FAILED})\b`,
      String.raw`\b(?:${FAILED})\b.*\b(?:${SECRETS})\b`,
      String.raw`\b(?:passwords?|credentials)\b.*\b(?:${FAILED})\b`,
    ],
    fixed_labels: { result: 'failure' },
  }),
  counter({
    name: 'router_log_wan_changes_total',
    help: 'Log lines about a change of the WAN chain or of its state.',
    patterns: [
      String.raw`\bwan[ -]?chain\b.*\b(?:in use|used|active|activated|selected|chosen|changed|switch\w*)\b`,
      String.raw`\bwan\w*\b.*\b(?:online|offline|fail(?:ing|ed)?[ -]?over|f[ae]ll(?:ing)?[ -]?back)\b`,
      String.raw`\b(?:switch\w*|chang\w*|fail(?:ing|ed)?[ -]?over|f[ae]ll(?:ing)?[ -]?back)\b.*\bto\b.*\bwan`,
    ],
  }),
  counter({
    name: 'router_log_modem_changes_total',
    help: 'Log lines about a new state of a modem.',
    // What comes last is what it came to, as in "from offline to online".
    patterns: [String.raw`^${MODEM}\b.*\b(?P<state>${MODEM_STATES})\b`],
    labels: ['state'],
  }),
  counter({
    ...VPN_CHANGES,
    patterns: [
      String.raw`\b${TUNNEL}\b.*\b(?:up|established|connected|online)\b`,
      'initialization sequence completed',
      String.raw`\bIKE_SA\b.*\bestablished\b`,
    ],
    fixed_labels: { state: 'up' },
  }),
  counter({
    ...VPN_CHANGES,
    patterns: [
      String.raw`\b${TUNNEL}\b.*\b(?:down|closed|terminated|disconnected|lost|offline)\b`,
      String.raw`\bsig(?:term|int)\b.*\bprocess exiting\b`,
      String.raw`\bdeleting IKE_SA\b`,
    ],
    fixed_labels: { state: 'down' },
  }),
  counter({
    name: 'router_log_reboots_total',
    help: 'Log lines about starts of the router.',
    patterns: [
      String.raw`^(?:\[ *[\d.]+\] )?linux version \d`,
      String.raw`\b${ROUTER} (?:(?:is|was|has|been|will|be|now) )*(?:re)?(?:start|boot)(?:s|ed|ing|up)?\b`,
      String.raw`\b(?:re)?(?:start|boot)(?:ed|ing)? (?:of |the )*${ROUTER}\b`,
      String.raw`\brebooting\b`,
    ],
  }),
];
