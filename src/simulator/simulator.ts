import { ArchiveCompressor } from './bzip2/archive-compressor.ts';
import { openControl } from './control/control.ts';
import { startLogActivity } from './log-files/activity.ts';
import { startLifeLog } from './log-files/life-log.ts';
import { openRouter } from './open-router.ts';
import { createRestApp } from './rest/app.ts';
import { deriveRandom } from './seeded.ts';
import type { SimulatedRouter } from './simulated-router.ts';
import { resolveSimulatorOptions, type SimulatorOptions } from './simulator-options.ts';
import { Certificates } from './tls/certificates.ts';

/** A running fleet of simulated routers. */
export interface Simulator extends AsyncDisposable {
  /**
   * Certificate of the authority that signed all routers' certificates. Empty with `plainHttp`, until a router enables
   * HTTPS.
   */
  readonly caPem: string;
  /** In order of their numbers: `sim-1` first. */
  readonly routers: readonly SimulatedRouter[];
  /** URL of the control port; `undefined` without the option `control`. */
  readonly controlUrl: string | undefined;
  /** Stops everything and ends all connections; idempotent. */
  close(): Promise<void>;
}

/** Starts a fleet. Throws {@link SimulatorError} if an option is invalid or an address is not available. */
export async function startSimulator(options: SimulatorOptions): Promise<Simulator> {
  const resolved = resolveSimulatorOptions(options);
  const { seed, clock, logActivity, liveRouters, logLinesPerSecond } = resolved;
  await using starting = new AsyncDisposableStack();
  const compressor = new ArchiveCompressor();
  starting.defer(() => compressor.close());
  const certificates = new Certificates(seed);
  const compress = (bytes: Buffer) => compressor.compress(bytes);
  const parts = { options: resolved, app: createRestApp(), certificates, compress };
  const routers: SimulatedRouter[] = [];
  for (let index = 0; index < resolved.routers; index++) {
    const { router, device, close } = await openRouter(index, parts);
    starting.defer(close);
    routers.push(router);
    for (const name of resolved.faults) await router.fault(name);
    if (logActivity === 'manual' || index >= liveRouters) continue;
    const random = deriveRandom(seed, `${device.name}/activity`);
    const { logs } = device;
    starting.use(
      startLogActivity(clock, random, logLinesPerSecond, ({ component, tag, render }) =>
        logs.append(component, render(random), tag),
      ),
    );
    starting.use(
      startLifeLog(clock, device.life, device.hardware, ({ component, tag, message }) =>
        logs.append(component, message, tag),
      ),
    );
  }
  const control = resolved.control ? await openControl(resolved.control, routers) : undefined;
  if (control) starting.defer(() => control.close());
  const running = starting.move();
  const close = () => running.disposeAsync();
  return {
    get caPem() {
      return certificates.caPem;
    },
    routers,
    controlUrl: control?.url,
    close,
    [Symbol.asyncDispose]: close,
  };
}
