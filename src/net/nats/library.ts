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
