import { CodedError, type CodedErrorOptions } from '../../base/index.ts';
import {
  adviseUnreached,
  explainTls,
  type Peer,
  readErrorCode,
  sanitizeErrorText,
  type TlsFailure,
} from '../error-codes.ts';

/** The parts of the client library that are used. */
export type NatsLibrary = Awaited<ReturnType<typeof loadNatsLibrary>>;

/** Loads the client library on demand: it takes as long as the rest of the start, and most agents do not need it. */
export async function loadNatsLibrary() {
  const [transport, jetstream] = await Promise.all([import('@nats-io/transport-node'), import('@nats-io/jetstream')]);
  return {
    connect: transport.connect,
    credsAuthenticator: transport.credsAuthenticator,
    createInbox: transport.createInbox,
    errors: transport.errors,
    jetstream: jetstream.jetstream,
    jetstreamManager: jetstream.jetstreamManager,
    JetStreamApiError: jetstream.JetStreamApiError,
  };
}

/**
 * - `unreachable`: the connection failed or broke.
 * - `timeout`: no answer within the limit.
 * - `unauthorized`: the server rejected the credentials, or the account lacks a permission.
 * - `misconfigured`: no trusted certificate, or no servers.
 * - `no_responders`: nothing answers on this subject: JetStream is disabled, or no stream stores it.
 * - `api`: the JetStream API answered with an error, whose code is `apiCode`.
 * - `protocol_error`: the answer is not that of a NATS server.
 */
type NatsFailure =
  | 'unreachable'
  | 'timeout'
  | 'unauthorized'
  | 'misconfigured'
  | 'no_responders'
  | 'api'
  | 'protocol_error';

interface NatsErrorOptions extends CodedErrorOptions {
  /** Error code of the JetStream API (nats-server, server/errors.json), such as 10071. */
  readonly apiCode?: number | undefined;
}

/** An error of a connection to NATS. */
export class NatsError extends CodedError<NatsFailure> {
  override readonly name = 'NatsError';
  readonly apiCode: number | undefined;

  constructor(code: NatsFailure, message: string, options: NatsErrorOptions) {
    super(code, message, options);
    this.apiCode = options.apiCode;
  }
}

/** Converts an error of the client library. `what`: the failed action; `peer`: whose settings a hint names. */
export function toNatsError(nats: NatsLibrary, what: string, thrown: unknown, peer: Peer): NatsError {
  if (thrown instanceof NatsError) return thrown;
  const cause = findReason(thrown);
  const untrusted = explainTls(cause, peer);
  const fail = (code: NatsFailure, options: Omit<NatsErrorOptions, 'cause'>) => {
    const words =
      (untrusted && renderTls(untrusted)) ?? (cause instanceof Error ? sanitizeErrorText(cause.message) : '');
    return new NatsError(code, words ? `${what}: ${words}` : what, options);
  };
  const { errors } = nats;
  if (cause instanceof nats.JetStreamApiError) return fail('api', { disposition: 'retry', apiCode: cause.code });
  if (
    cause instanceof errors.AuthorizationError ||
    cause instanceof errors.UserAuthenticationExpiredError ||
    cause instanceof errors.PermissionViolationError
  ) {
    const hint = `Check the credentials of this ${peer} and the permissions of its account`;
    return fail('unauthorized', { disposition: 'operator', hint });
  }
  if (cause instanceof errors.NoRespondersError) {
    return fail('no_responders', { disposition: 'retry', hint: 'Check that JetStream is enabled' });
  }
  if (cause instanceof errors.TimeoutError) return fail('timeout', { disposition: 'retry' });
  if (untrusted) return fail('misconfigured', { disposition: 'operator', hint: untrusted.hint });
  if (cause instanceof SyntaxError) {
    return fail('protocol_error', { disposition: 'retry', hint: 'Another service responds on this subject' });
  }
  return fail('unreachable', { disposition: 'retry', hint: adviseUnreached(readErrorCode(cause), peer) });
}

function renderTls({ subject, reason }: TlsFailure): string {
  return subject === 'certificate' ? `its certificate is not trusted: ${reason}` : reason;
}

/** Returns the innermost error: the library wraps the server's error. */
function findReason(thrown: unknown): unknown {
  return thrown instanceof Error && thrown.cause instanceof Error ? findReason(thrown.cause) : thrown;
}
