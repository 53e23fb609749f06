import { getRequestListener } from '@hono/node-server';
import { ArchiveCompressor } from './archive-compressor.ts';
import { type CertificateAuthority, createCertificateAuthority } from './certificate-authority.ts';
import { createDevice, type Device } from './device.ts';
import { openHttpListener } from './http-listener.ts';
import { startLogActivity } from './log-activity.ts';
import { createRestApp } from './rest-app.ts';
import { deriveRandom } from './seeded.ts';
import { SimulatedRouter } from './simulated-router.ts';
import { type ResolvedSimulatorOptions, resolveSimulatorOptions, type SimulatorOptions } from './simulator-options.ts';

/** A running fleet of simulated routers. */
export interface Simulator extends AsyncDisposable {
  /** The authority that signed all routers' certificates. Empty with `plainHttp`. */
  readonly caPem: string;
  /** By number: `sim-1` first. */
  readonly routers: readonly SimulatedRouter[];
  /** Stops everything and ends all connections; idempotent. */
  close(): Promise<void>;
}

/** Starts a fleet. Throws {@link SimulatorError} when an option is wrong or an address cannot be had. */
export async function startSimulator(options: SimulatorOptions): Promise<Simulator> {
  const resolved = resolveSimulatorOptions(options);
  await using starting = new AsyncDisposableStack();
  const compressor = new ArchiveCompressor();
  starting.defer(() => compressor.close());
  const random = deriveRandom(resolved.seed, 'certificates');
  const authority = resolved.plainHttp ? undefined : await createCertificateAuthority(random);
  const routers: SimulatedRouter[] = [];
  for (let index = 0; index < resolved.routers; index++) {
    const compress = (bytes: Buffer) => compressor.compress(bytes);
    const device = createDevice({ ...resolved, index, compress });
    starting.defer(() => device.logs.close());
    routers.push(await openRouter(device, index, resolved, authority, starting));
  }
  const running = starting.move();
  const close = () => running.disposeAsync();
  return { caPem: authority?.caPem ?? '', routers, close, [Symbol.asyncDispose]: close };
}

async function openRouter(
  device: Device,
  index: number,
  options: ResolvedSimulatorOptions,
  authority: CertificateAuthority | undefined,
  stack: AsyncDisposableStack,
): Promise<SimulatedRouter> {
  const { listen, seed, clock } = options;
  const host = toReachableHost(listen.host);
  const listener = await openHttpListener({
    host: listen.host,
    port: listen.port === 0 ? 0 : listen.port + index,
    certificate: authority?.issue([...new Set([device.name, 'localhost', '127.0.0.1', '::1', host])]),
    // The adapter would otherwise replace Request and Response for the whole process.
    handle: getRequestListener(createRestApp(device).fetch, { overrideGlobalObjects: false }),
  });
  stack.defer(() => listener.close());
  if (options.logActivity === 'live') {
    const random = deriveRandom(seed, `${device.name}/activity`);
    const { logs } = device;
    stack.use(
      startLogActivity(clock, random, ({ component, tag, render }) => logs.append(component, render(random), tag)),
    );
  }
  const origin = `${host.includes(':') ? `[${host}]` : host}:${listener.port}`;
  return new SimulatedRouter(device, `${authority ? 'https' : 'http'}://${origin}`);
}

/** A wildcard address is good for listening only. */
function toReachableHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  return host === '::' ? '::1' : host;
}
