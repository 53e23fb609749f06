import type { Secret } from '../base/index.ts';
import type { RouterError } from './errors.ts';
import { Session, type SessionOptions } from './session.ts';

export const AUTH_MODES = ['token', 'basic', 'none'] as const;

/**
 * How requests are authenticated. `token`: login, refresh, logout. `basic`: HTTP basic credentials with each request,
 * for devices that take them. `none`: for devices without users.
 */
export type AuthMode = (typeof AUTH_MODES)[number];

/** What makes requests authentic, whatever the mode. */
export interface Credentials {
  /** Value of the header `Authorization` for the next request. */
  authorization(signal: AbortSignal): Promise<string | undefined>;
  /** Says that the router refused it, perhaps not for the first time in one request; returns whether another try can do better. */
  lost(authorization: string | undefined, cause: RouterError, isRepeated: boolean): boolean;
  close(signal: AbortSignal): Promise<void>;
}

const BEARER = 'Bearer ';

export function createCredentials(mode: AuthMode, options: SessionOptions): Credentials {
  switch (mode) {
    case 'token':
      return createTokenCredentials(new Session(options));
    case 'basic':
      return createFixedCredentials(renderBasic(options.username, options.password));
    case 'none':
      return createFixedCredentials(undefined);
  }
}

function createTokenCredentials(session: Session): Credentials {
  return {
    authorization: async (signal) => `${BEARER}${await session.token(signal)}`,
    lost: (authorization, cause, isRepeated) =>
      authorization !== undefined && session.lost(authorization.slice(BEARER.length), cause, isRepeated),
    close: (signal) => session.close(signal),
  };
}

function createFixedCredentials(authorization: string | undefined): Credentials {
  return {
    authorization: () => Promise.resolve(authorization),
    lost: () => false,
    close: () => Promise.resolve(),
  };
}

function renderBasic(username: string, password: Secret): string {
  return `Basic ${Buffer.from(`${username}:${password.reveal()}`, 'utf8').toString('base64')}`;
}
