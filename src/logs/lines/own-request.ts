/** A request that this program makes, as routers log them when they are told to. */
const OWN_REQUEST = /\b(?:GET|POST) (?:\/api\/v2_0)?\/?(?:download\/log|auth\/(?:login|refresh|logout)|status\/)/;

/** True if a message is about a request of this program. */
export function isOwnRequest(message: string): boolean {
  return (message.includes('GET ') || message.includes('POST ')) && OWN_REQUEST.test(message);
}
