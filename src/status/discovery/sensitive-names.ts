/**
 * What a value is by the name of its field. `secret`: it opens something. `identity`: it tells who, which device or where,
 * or how to reach them.
 */
export type Sensitivity = 'secret' | 'identity';

const toSet = (words: string): ReadonlySet<string> => new Set(words.split(/\s+/).filter((word) => word !== ''));

const SECRET_WORDS = toSet(`
  authorization bearer cookie credential credentials jwt key keys pass passphrase password passwd private psk pw pwd secret
  secrets sid token tokens
`);
const IDENTITY_WORDS = toSet(`
  account addr address addresses altitude apn area bssid bssids callee caller called calling cell cellid cid comment contact
  coord coordinate coordinates coords customer description dns domain domainname eci email enb enodeb essid eui fingerprint
  fqdn gateway geo gnb gnss gps guid gw host hostname hostnames hosts iccid imei imeisv imsi ip ips ipv lac lat latitude
  lladdr lng loc location locations login lon longitude mac macs mail meid msisdn nameserver note notes owner pci peer phone
  pin pins puk puks recipient remote sender serial serials server site sn ssid ssids street subscriber tac tel
  telephone uri url urls user username users usim uuid vin
`);
/** Clear enough to be found where no separator shows where a word begins. */
const SECRET_PARTS = [
  ...['apikey', 'credential', 'passphrase', 'passw', 'presharedkey', 'privatekey', 'secret', 'sessionid', 'token'],
];
const IDENTITY_PARTS = [
  ...[
    'cellid',
    'hostname',
    'iccid',
    'imei',
    'imsi',
    'ipaddr',
    'latitude',
    'location',
    'longitude',
    'macaddr',
    'msisdn',
  ],
  ...['phone', 'serialn', 'ssid', 'username', 'usim', 'uuid'],
];

/** After these at the end of a name the value is a word about the thing, not the thing. */
const STATE_WORDS = toSet(`
  active attempts available changed conflict enabled family kind left len length level locked mode ok protocol quality ready
  retries size state status strength tries type valid version
`);
/** After these it is a number of any size. */
const COUNT_WORDS = toSet(
  'age bytes count counter days errors expires expiry lifetime metric mtu packets rate rx speed ttl tx',
);
/** A word about something has no numbers of it. */
const STATE_DIGITS_MAX = 2;
const STATE_LENGTH_MAX = 40;

/** Longest name that is taken apart; a longer one is no name of a field. */
const NAME_LENGTH_MAX = 256;

/** The words of a name in lower case: `IMEI`, `macAddress`, `ip-address_2`. */
export function splitWords(name: string): readonly string[] {
  return name
    .slice(0, NAME_LENGTH_MAX)
    .replaceAll(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .replaceAll(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}]+/u)
    .filter((word) => word !== '');
}

/** What the values of a field are by its name alone; `undefined` when it tells nothing bad. */
export function classifyName(name: string): Sensitivity | undefined {
  const words = splitWords(name);
  const joined = words.join('');
  if (words.some((word) => SECRET_WORDS.has(word)) || SECRET_PARTS.some((part) => joined.includes(part)))
    return 'secret';
  const isIdentity = words.some((word) => IDENTITY_WORDS.has(word));
  return isIdentity || IDENTITY_PARTS.some((part) => joined.includes(part)) ? 'identity' : undefined;
}

/**
 * What a text is by the name of its field. A text about the thing that the rest of the name names (`pin_retries`,
 * `ip_packets_rx`), and a word that everybody uses, tell nothing about anybody. A secret is a secret, whatever it is.
 */
export function classifyValue(name: string, text: string): Sensitivity | undefined {
  const sensitivity = classifyName(name);
  return sensitivity === 'identity' && isHarmless(name, text) ? undefined : sensitivity;
}

/** Whether a text in a field of this name tells nothing about anybody, though the field is there for that. */
export function isHarmless(name: string, text: string): boolean {
  const plain = text.trim();
  if (EVERYDAY_WORD.test(plain)) return true;
  const last = splitWords(name).at(-1) ?? '';
  if (COUNT_WORDS.has(last)) return /^\d{1,13}$/.test(plain);
  if (!STATE_WORDS.has(last) || plain.length > STATE_LENGTH_MAX) return false;
  return plain.replaceAll(/\D/g, '').length <= STATE_DIGITS_MAX;
}

const EVERYDAY_WORD =
  /^(?:|-+|0|any|auto|default|dhcp|disabled|down|enabled|false|n\/a|no|none|not available[a-z ]{0,40}|off|ok|on|static|true|unknown|up|yes)$/i;
