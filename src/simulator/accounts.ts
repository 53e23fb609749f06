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

/** The accounts of a fresh simulated router. The password is public on purpose: there is nothing to protect. */
export const freshAccounts: readonly Account[] = [
  { username: 'admin', password: 'simulated', group: 'readwrite' },
  { username: 'monitor', password: 'simulated', group: 'read' },
  { username: 'status', password: 'simulated', group: 'status' },
];
