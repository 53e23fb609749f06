import type { IncomingMessage, ServerResponse } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import type { Hono } from 'hono';
import { ArchiveCompressor } from './archives/archive-compressor.ts';
import { readRecording } from './bundle-file.ts';
import { CapturedAnswers } from './captured-answers.ts';
import { openControl } from './control.ts';
import { createDevice, type Device, renderDeviceName } from './device/device.ts';
import { SESSIONS_MAX } from './device/sessions.ts';
import { type Answer, type Exchange, FaultInjector } from './faults/fault-injector.ts';
import { RouterFaults } from './faults/router-faults.ts';
import { type LogPhrase, startLifeLog, startLogActivity, writeLogHistory } from './log-files/live-lines.ts';
import type { Compress } from './log-files/writer.ts';
import type { RestBindings, RestEnv } from './rest/answer.ts';
import { createRestApp } from './rest/app.ts';
import { deriveRandom } from './seeded.ts';
import { RouterServer } from './server.ts';
import { SimulatedRouter } from './simulated-router.ts';
import { type ResolvedSimulatorOptions, resolveSimulatorOptions, type SimulatorOptions } from './simulator-options.ts';
import { Certificates } from './tls.ts';

interface FleetParts {
  readonly options: ResolvedSimulatorOptions;
  readonly app: Hono<RestEnv>;
  readonly certificates: Certificates;
  readonly compress: Compress;
}

interface OpenedDevice {
  readonly device: Device;
  /** One for each of its addresses. */
  readonly routers: readonly SimulatedRouter[];
  readonly close: () => Promise<void>;
}

/** Base path of an address of a fleet with captured answers. */
const ADDRESS = /^\/r(\d+)(?=\/)/;

/**
 * Opens device number `index` (from 0): one router, or with captured answers all routers of the fleet as addresses of this device, each
 * with its own faults. Throws {@link SimulatorError} `listen-failed` or `bad-option`.
 */
async function openDevice(index: number, parts: FleetParts): Promise<OpenedDevice> {
  await using opening = new AsyncDisposableStack();
  const { options, app, certificates, compress } = parts;
  const { listen, plainHttp, idleMs, captured } = options;
  const bundle = options.bundles?.[index];
  const recording = bundle === undefined ? undefined : await readRecording(bundle);
  const features = { ...options.features, ...recording?.features };
  const host = toReachableHost(listen.host);
  const hosts = [...new Set([renderDeviceName(index), 'localhost', '127.0.0.1', '::1', host])];
  const injectors: FaultInjector[] = [];
  const front = new RouterServer({
    host: listen.host,
    idleMs,
    issueCertificate: () => certificates.issue(hosts),
    async handle(incoming, outgoing, listener) {
      const [path = '', number = 0] = (captured && ADDRESS.exec(incoming.url ?? '')) ?? [];
      incoming.url = incoming.url?.slice(path.length);
      const injector = injectors[Number(number)];
      if (injector) await injector.handle(incoming, outgoing, listener);
      else outgoing.writeHead(404).end();
    },
  });
  opening.defer(() => front.close());
  const port = listen.port === 0 ? 0 : listen.port + index;
  await front.change(plainHttp ? { http: port, https: undefined } : { http: undefined, https: port });
  // A router reports its actual ports, and 80 or 443 for a disabled scheme.
  const { http, https } = front.ports;
  const device = createDevice({
    ...options,
    index,
    compress,
    // Each address of a fleet with captured answers has its own sessions.
    sessionsMax: SESSIONS_MAX * (captured ? options.routers : 1),
    web: {
      ...(http !== undefined && { http_active: '1', https_active: '0', http_port: String(http) }),
      ...(https !== undefined && { https_port: String(https) }),
      log_requests: features.logRequests ? '1' : '0',
    },
  });
  const bind = (incoming: IncomingMessage, outgoing: ServerResponse): RestBindings => ({
    incoming,
    outgoing,
    device,
    features,
    recording,
    applyWebSettings: ({ httpPort, httpsPort, isPortOpen }) =>
      front.change({ http: httpPort, https: httpsPort }, isPortOpen),
    countDelivered: (bodyBytes) => bodyBytes,
  });
  const answer: Answer = getRequestListener(
    (request, { incoming, outgoing }) =>
      app.fetch(request, bind(incoming as IncomingMessage, outgoing as ServerResponse)),
    // Otherwise the adapter would replace Request and Response for the whole process.
    { overrideGlobalObjects: false },
  );
  const answers = captured && new CapturedAnswers(captured, device, answer);
  const random = deriveRandom(options.seed, `${device.name}/losses`);
  const exchange: Exchange = async (request, incoming, outgoing, countDelivered) =>
    app.fetch(request, { ...bind(incoming, outgoing), countDelivered });
  const routers = Array.from({ length: captured ? options.routers : 1 }, (_, address) => {
    const faults = new RouterFaults();
    const faultInjector = new FaultInjector({ device, faults, random, answer: answers?.open() ?? answer, exchange });
    injectors.push(faultInjector);
    const own = captured ? { name: renderDeviceName(address), path: `/r${address}` } : { name: device.name, path: '' };
    return new SimulatedRouter({ ...own, device, front, faults, faultInjector, certificates, host, hosts });
  });
  opening.defer(() => {
    for (const injector of injectors) injector.releaseHanging();
    device.logs.close();
  });
  const opened = opening.move();
  return { routers, device, close: () => opened.disposeAsync() };
}

/** Clients cannot connect to a wildcard address. */
function toReachableHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  return host === '::' ? '::1' : host;
}

/** A running fleet of simulated routers. */
export interface Simulator extends AsyncDisposable {
  /** Certificate of the authority that signed all routers' certificates. Empty with `plainHttp`, until a router enables HTTPS. */
  readonly caPem: string;
  /** In order of their numbers: `sim-1` first. */
  readonly routers: readonly SimulatedRouter[];
  /** URL of the control port; `undefined` without the option `control`. */
  readonly controlUrl: string | undefined;
  /** Stops the fleet and ends all connections; idempotent. */
  close(): Promise<void>;
}

/** Starts a fleet. Throws {@link SimulatorError} if an option is invalid or an address is not available. */
export async function startSimulator(options: SimulatorOptions): Promise<Simulator> {
  const resolved = resolveSimulatorOptions(options);
  const { seed, clock, logActivity, liveRouters, logLinesPerSecond, logHistoryMs } = resolved;
  await using starting = new AsyncDisposableStack();
  const compressor = new ArchiveCompressor();
  starting.defer(() => compressor.close());
  const certificates = new Certificates(seed);
  const compress = (bytes: Buffer) => compressor.compress(bytes);
  const parts = { options: resolved, app: createRestApp(), certificates, compress };
  const routers: SimulatedRouter[] = [];
  for (let index = 0; routers.length < resolved.routers; index++) {
    const { device, close, ...opened } = await openDevice(index, parts);
    starting.defer(close);
    routers.push(...opened.routers);
    for (const router of opened.routers) for (const name of resolved.faults) await router.fault(name);
    if (logActivity === 'manual' || index >= liveRouters) continue;
    const random = deriveRandom(seed, `${device.name}/activity`);
    const { logs } = device;
    const write = ({ component, tag, severity, render }: LogPhrase) =>
      logs.append(component, render(random), tag, severity);
    if (logHistoryMs > 0) writeLogHistory(device, random, logHistoryMs, write);
    starting.use(startLogActivity(clock, random, logLinesPerSecond, write));
    starting.use(
      startLifeLog(clock, device.life, device.hardware, ({ component, tag, message }) =>
        logs.append(component, message, tag),
      ),
    );
  }
  if (logHistoryMs > 0) await Promise.all(routers.map((router) => router.whenQuiet()));
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
