import { errors } from 'undici';
import { adviseUnreached, ContentCodingError, classifyCode, readErrorCode } from '../../net/index.ts';
import { DeliveryError } from '../errors.ts';
import { toTlsError } from '../tls.ts';

/** Codes for an answer that is not in the form of HTTP, or not within the bounds of the client. */
const PROTOCOL_CODE = /^(HPE_|UND_ERR_HEADERS_OVERFLOW)/;

/** Converts an error of the HTTP client to a {@link DeliveryError}. `place` is the address without secrets. */
export function toTransportError(cause: unknown, sink: string, place: string): DeliveryError {
  if (cause instanceof DeliveryError) {
    const { code, disposition, hint, retryAfterMs, answer } = cause;
    return new DeliveryError(code, `Sink ${sink} could not use ${place}: ${cause.message}`, {
      disposition,
      hint,
      retryAfterMs,
      answer,
    });
  }
  const reason = findReason(cause);
  const untrusted = toTlsError(reason, sink, place);
  if (untrusted) return untrusted;
  const code = readErrorCode(reason);
  const isForm = reason instanceof errors.HTTPParserError || PROTOCOL_CODE.test(code);
  const isBody = reason instanceof ContentCodingError || reason instanceof errors.ResponseContentLengthMismatchError;
  if (isForm || isBody) {
    return new DeliveryError('protocol_error', `Sink ${sink} cannot read the answer of ${place}`, {
      disposition: 'retry',
      hint: isForm
        ? 'Check host, port and scheme in the url of this sink; if they are right, its server, or a proxy before it, breaks the rules of HTTP'
        : undefined,
      cause,
    });
  }
  const fault = classifyCode(code);
  if (fault === 'no-address') {
    return new DeliveryError('unreachable', `Sink ${sink} could not resolve the host name of ${place}`, {
      disposition: 'retry',
      hint: adviseUnreached(code, 'sink'),
      cause,
    });
  }
  const isUnreachable = fault === 'unreachable';
  return new DeliveryError(
    'unreachable',
    `Sink ${sink} ${isUnreachable ? 'could not connect' : 'lost its connection'} to ${place}`,
    {
      disposition: 'retry',
      hint: adviseUnreached(code, 'sink'),
      cause,
      isCutOff: !isUnreachable && Object(reason).syscall !== 'connect',
    },
  );
}

/** Returns the innermost error with its own code. */
function findReason(cause: unknown): unknown {
  if (!(cause instanceof Error)) return undefined;
  const code = readErrorCode(cause);
  const isOuter = code === '' || code.startsWith('UND_ERR_');
  return isOuter && cause.cause instanceof Error ? findReason(cause.cause) : cause;
}
