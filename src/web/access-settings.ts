import { z } from 'zod';
import type { Secret } from '../base/index.ts';
import {
  type ConfigFile,
  choice,
  findSecretForm,
  flag,
  NamedFileReader,
  name,
  refuseSecretForms,
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
export interface AccessRules<Token = string | Secret> {
  /** True when `/-/healthy` and `/-/ready` need no credentials. */
  readonly isHealthOpen: boolean;
  /** Roles of users of the web configuration file; one that is not named is `admin`. */
  readonly users: ReadonlyMap<string, Role>;
  /** Bearer tokens. */
  readonly tokens: readonly { readonly name: string; readonly role: Role; readonly token: Token }[];
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
    secretOf('The token.', TOKEN, z.string().regex(TOKEN_PATTERN).meta({ description: 'The token itself.' })),
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

type TokenKeys = NonNullable<NonNullable<SoundOf<typeof accessSchema>['tokens']>[number]>;

/** The rules of the section, with the tokens wherever they come from. */
export async function readAccess(
  main: ConfigFile,
  keys: SoundOf<typeof accessSchema> = {},
): Promise<AccessRules<Secret>> {
  const reader = new NamedFileReader();
  const tokens: AccessRules<Secret>['tokens'][number][] = [];
  const names = new Set<string>();
  for (const [index, one] of (keys.tokens ?? []).entries()) {
    const token = await readToken(main, index, one ?? {}, reader);
    if (one?.name === undefined || one.role === undefined) continue;
    const path = ['web', 'access', 'tokens', index, 'name'];
    if (names.has(one.name)) main.faults.add(path, `The name "${one.name}" is already taken by an earlier token`);
    names.add(one.name);
    const same = token && tokens.find((other) => other.token.reveal() === token.reveal());
    if (same) {
      const message = `The token has the same value as "${same.name}", whose role counts for both`;
      main.faults.warn(['web', 'access', 'tokens', index], message);
    }
    if (token) tokens.push({ name: one.name, role: one.role, token });
  }
  const users = Object.entries(keys.users ?? {}).flatMap(([user, its]) => (its ? [[user, its] as const] : []));
  return { isHealthOpen: keys.open_health ?? false, users: new Map(users), tokens };
}

async function readToken(
  main: ConfigFile,
  index: number,
  keys: Partial<TokenKeys>,
  reader: NamedFileReader,
): Promise<Secret | undefined> {
  const place = { file: main, path: ['web', 'access', 'tokens', index] };
  refuseSecretForms(place, 'token');
  if (findSecretForm(place, 'token') === undefined) {
    main.faults.add([...place.path, 'token'], 'Missing key; expected "token" or "token_file"');
  }
  return reader.readSecret(place, 'token', keys, { expected: TOKEN, isValid: (text) => TOKEN_PATTERN.test(text) });
}

/** Renders the section with tokens as `[secret]`. */
export function renderAccess({ isHealthOpen, users, tokens }: AccessRules<Secret>): object {
  return { open_health: isHealthOpen, users: Object.fromEntries(users), tokens };
}
