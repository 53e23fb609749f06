import { z } from 'zod';
import { Secret } from '../base/index.ts';
import {
  type ConfigFile,
  choice,
  type Filled,
  findSecretForm,
  flag,
  name,
  refuseSecretForms,
  type Settled,
  type SoundOf,
  secretOf,
  secretShape,
  section,
} from '../settings/index.ts';

/** Rights of a user or a token, in rising order; each includes the ones before. */
export const ROLES = ['metrics', 'read', 'admin'] as const;

/** `metrics`: metrics and service discovery. `read`: also pages and JSON, with log lines. `admin`: also reload, quit and states of routers. */
export type Role = (typeof ROLES)[number];

/** Access rules: users, tokens and their roles. */
export interface AccessRules {
  /** True when `/-/healthy` and `/-/ready` need no credentials. */
  readonly isHealthOpen: boolean;
  /** Roles of users of the web configuration file; one that is not named is `admin`. */
  readonly users: ReadonlyMap<string, Role>;
  /** Bearer tokens. */
  readonly tokens: readonly { readonly name: string; readonly role: Role; readonly token: string | Secret }[];
}

/** Everybody who has a password is `admin`. */
export const NO_RULES: AccessRules = { isHealthOpen: false, users: new Map(), tokens: [] };

const TOKENS_MAX = 100;
const TOKENS = `a list of at most ${TOKENS_MAX} tokens with name, role and token`;
const USERS_MAX = 100;
const USERS = `a map of at most ${USERS_MAX} users to roles`;
const TOKEN = 'a token of 8 to 4096 printable ASCII characters without blanks, as "openssl rand -hex 32" writes one';
const TOKEN_PATTERN = /^[\x21-\x7e]{8,4096}$/;

function role(description: string) {
  return choice({ description }, ROLES);
}

const ROLE =
  '`metrics`: metrics, probes and service discovery. `read`: also pages and JSON, which contain log lines. `admin`: also `/-/reload`, `/-/quit`, `/-/poll` and `PUT /api/v1/routers/NAME/state`.';

const tokenSchema = section('A bearer token.', {
  name: name({ description: 'Name of the token, for people. Unique.' }),
  role: role(ROLE),
  ...secretShape(
    'token',
    secretOf(
      'The token.',
      { expected: TOKEN, isValid: (text) => TOKEN_PATTERN.test(text) },
      z.string().regex(TOKEN_PATTERN).meta({ description: 'The token itself.' }),
    ),
  ),
});

/** The section `web.access`. */
export const accessSchema = section(
  'Roles, and bearer tokens beside the users of `config_file`. Without users and tokens, access is open.',
  {
    open_health: flag({
      description: '`/-/healthy` and `/-/ready` need no credentials, for probes of orchestrators.',
      default: false,
    }).optional(),
    users: z
      .record(z.string(), role(ROLE), { error: USERS })
      .refine((users) => Object.keys(users).length <= USERS_MAX, { error: USERS })
      .meta({
        description: 'Roles of users of `config_file`. A user who is not named here is `admin`, as in other exporters.',
        kind: 'map of users to roles',
      })
      .optional(),
    tokens: z
      .array(tokenSchema, { error: TOKENS })
      .max(TOKENS_MAX, { error: TOKENS })
      .meta({ description: 'Bearer tokens.' })
      .optional(),
  },
);

/** The section `web.access`, with the tokens wherever they come from. */
export type AccessSettings = Settled<Filled<z.output<typeof accessSchema>>>;

/** Rejects tokens that are missing or have the name of another one, and warns of two with the same value. */
export function checkTokens(main: ConfigFile, tokens: Filled<SoundOf<typeof accessSchema>>['tokens'] = []): void {
  const names = new Set<string>();
  const values = new Map<string, string>();
  for (const [index, { name: tokenName, role: its, token }] of tokens.entries()) {
    const place = { file: main, path: ['web', 'access', 'tokens', index] };
    refuseSecretForms(place, 'token');
    if (findSecretForm(place, 'token') === undefined) {
      main.faults.add([...place.path, 'token'], 'Missing key; expected "token" or "token_file"');
    }
    if (tokenName === undefined || its === undefined) continue;
    const message = `The name "${tokenName}" is already taken by an earlier token`;
    if (names.has(tokenName)) main.faults.add([...place.path, 'name'], message);
    names.add(tokenName);
    if (!(token instanceof Secret)) continue;
    const same = values.get(token.reveal());
    if (same === undefined) values.set(token.reveal(), tokenName);
    else main.faults.warn(place.path, `The token has the same value as "${same}", whose role counts for both`);
  }
}

/** Converts the section to the rules of the server. */
export function toAccessRules({
  open_health: isHealthOpen = false,
  users = {},
  tokens = [],
}: AccessSettings): AccessRules {
  const complete = tokens.flatMap(({ token, ...same }) => (token ? [{ ...same, token }] : []));
  return { isHealthOpen, users: new Map(Object.entries(users)), tokens: complete };
}
