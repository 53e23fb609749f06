import { readEntries } from '../configuration/fresh.ts';
import { isPassword } from '../configuration/password-hash.ts';
import type { Configuration } from '../configuration/state.ts';

/** Rights of an account: reading status, reading everything, or changing everything; each includes the previous one. */
export type Group = 'status' | 'read' | 'readwrite';

/** A user of the router, with password and group. */
export interface Account {
  readonly username: string;
  readonly password: string;
  readonly group: Group;
}

const RANKS: Readonly<Record<Group, number>> = { status: 0, read: 1, readwrite: 2 };

/** Returns true if members of `group` have the right `needed`. */
export function hasRight(group: Group, needed: Group): boolean {
  return RANKS[group] >= RANKS[needed];
}

/** Returns the active account with this name in a configuration. */
export function findAccount(configuration: Configuration, username: string): Account | undefined {
  const entry = readEntries(configuration, 'administration/users').find(
    ({ fields }) => fields['username'] === username && fields['active'] === '1',
  );
  if (!entry) return undefined;
  return { username, password: entry.fields['password'] ?? '', group: (entry.fields['group'] ?? 'status') as Group };
}

/** Returns the active account with this name and password. */
export function verifyAccount(configuration: Configuration, username: string, password: string): Account | undefined {
  const account = findAccount(configuration, username);
  return account && isPassword(password, account.password) ? account : undefined;
}
