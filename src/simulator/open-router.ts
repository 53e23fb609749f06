import type { IncomingMessage, ServerResponse } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import type { Hono } from 'hono';
import { createDevice, type Device, renderDeviceName } from './device/device.ts';
import { FaultInjector } from './faults/fault-injector.ts';
import { RouterFaults } from './faults/router-faults.ts';
import type { Compress } from './log-files/compression.ts';
import type { RestBindings, RestEnv } from './rest/answer.ts';
import { RouterServer } from './server/router-server.ts';
import { SimulatedRouter } from './simulated-router.ts';
import type { ResolvedSimulatorOptions } from './simulator-options.ts';
import type { Certificates } from './tls/certificates.ts';

/** Objects shared by the routers of a fleet. */
export interface FleetParts {
  /** Options of the simulator, with defaults. */
  readonly options: ResolvedSimulatorOptions;
  /** The REST interface of all routers. */
  readonly app: Hono<RestEnv>;
  /** Issues the routers' certificates. */
  readonly certificates: Certificates;
  /** Compresses rotated files. */
  readonly compress: Compress;
}

/** A running router. */
export interface OpenedRouter {
  readonly router: SimulatedRouter;
  readonly device: Device;
  readonly close: () => Promise<void>;
}

/** Opens router number `index` (from 0). Throws {@link SimulatorError} `listen-failed` or `bad-option`. */
export async function openRouter(index: number, parts: FleetParts): Promise<OpenedRouter> {
  await using opening = new AsyncDisposableStack();
  const { options, app, certificates, compress } = parts;
  const { listen, plainHttp, features } = options;
  const host = toReachableHost(listen.host);
  const hosts = [...new Set([renderDeviceName(index), 'localhost', '127.0.0.1', '::1', host])];
  const faults = new RouterFaults();
  const front = new RouterServer({
    host: listen.host,
    issueCertificate: () => certificates.issue(hosts),
    handle: (incoming, outgoing, listener) => faultInjector.handle(incoming, outgoing, listener),
  });
  opening.defer(() => front.close());
  const port = listen.port === 0 ? 0 : listen.port + index;
  await front.open(plainHttp ? { http: port, https: undefined } : { http: undefined, https: port });
  // A router reports its actual ports, and 80 or 443 for a disabled scheme.
  const { http, https } = front.ports;
  const device = createDevice({
    ...options,
    index,
    compress,
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
    applyWebSettings: ({ httpPort, httpsPort, isPortOpen }) =>
      front.change({ http: httpPort, https: httpsPort }, isPortOpen),
    countDelivered: (bodyBytes) => bodyBytes,
  });
  const faultInjector: FaultInjector = new FaultInjector({
    device,
    faults,
    answer: getRequestListener(
      (request, { incoming, outgoing }) =>
        app.fetch(request, bind(incoming as IncomingMessage, outgoing as ServerResponse)),
      // Otherwise the adapter would replace Request and Response for the whole process.
      { overrideGlobalObjects: false },
    ),
    exchange: async (request, incoming, outgoing, countDelivered) =>
      app.fetch(request, { ...bind(incoming, outgoing), countDelivered }),
  });
  const router = new SimulatedRouter({ device, front, faults, faultInjector, certificates, host, hosts });
  opening.defer(() => {
    faultInjector.releaseHanging();
    device.logs.close();
  });
  const opened = opening.move();
  return { router, device, close: () => opened.disposeAsync() };
}

/** Clients cannot connect to a wildcard address. */
function toReachableHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  return host === '::' ? '::1' : host;
}
