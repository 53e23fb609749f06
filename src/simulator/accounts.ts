import { readEntries } from './configuration/fresh.ts';
import { isPassword } from './configuration/password-hash.ts';
import type { Configuration } from './configuration/state.ts';

/** What an account may do: look at status, read everything, or change everything; each includes the one before. */
export type Group = 'status' | 'read' | 'readwrite';

export interface Account {
  readonly username: string;
  readonly password: string;
  readonly group: Group;
}

const RANKS: Readonly<Record<Group, number>> = { status: 0, read: 1, readwrite: 2 };

/** Whether members of `group` may do what needs `needed`. */
export function hasRight(group: Group, needed: Group): boolean {
  return RANKS[group] >= RANKS[needed];
}

/** The active account of that name in a configuration. */
export function findAccount(configuration: Configuration, username: string): Account | undefined {
  const entry = readEntries(configuration, 'administration/users').find(
    ({ fields }) => fields['username'] === username && fields['active'] === '1',
  );
  if (!entry) return undefined;
  return { username, password: entry.fields['password'] ?? '', group: (entry.fields['group'] ?? 'status') as Group };
}

/** The active account with that name and password. */
export function verifyAccount(configuration: Configuration, username: string, password: string): Account | undefined {
  const account = findAccount(configuration, username);
  return account && isPassword(password, account.password) ? account : undefined;
}
