import { once } from 'node:events';
import { createSystemClock, renderErrorChain } from '../base/index.ts';
import { describeHost, parseListenAddress } from '../settings/index.ts';
import {
  demoLogSettings,
  FAULT_NAMES,
  type FaultName,
  isFaultName,
  type LogSettings,
  type Simulator,
  SimulatorError,
  startSimulator,
} from '../simulator/index.ts';
import { type CommandIo, EXIT, type ExitCode } from './support/io.ts';
import { writeOutputFile } from './support/output-file.ts';

const CA_MODE = 0o644;

interface SimulateFlags {
  /** Number of simulated routers without `from`. */
  readonly routers: number;
  /** Bundles: one router answers like the device of each. */
  readonly from: readonly string[];
  /** `host:port` of the first router; others use the next ports. Default: 127.0.0.1:9443. */
  readonly listen?: string | undefined;
  readonly seed: number;
  /** `host:port` of the control port, or `true` for 127.0.0.1:9442. Default: none. */
  readonly control?: string | true | undefined;
  /** Initial faults: `NAME` for every router or `ROUTER=NAME` for one. */
  readonly fault: readonly string[];
  readonly plainHttp?: boolean | undefined;
  /** Milliseconds by which the routers' clocks are ahead; negative: behind. */
  readonly clockOffset: number;
  readonly caOut?: string | undefined;
}

const USUAL_LISTEN = '127.0.0.1:9443';
/** One below the first router, because the others take the ports above it. */
const USUAL_CONTROL = '127.0.0.1:9442';
/** Larger fleets share the total log rate of so many routers. */
const LIVELY_ROUTERS = 100;
const LINES_PER_SECOND = 9;

/** `simulate`: runs only simulated routers, until SIGTERM or SIGINT. */
export async function simulate(given: SimulateFlags, io: CommandIo): Promise<ExitCode> {
  const isRecorded = given.from.length > 0;
  const flags = isRecorded ? { ...given, routers: given.from.length } : given;
  const listen = readAddress('--listen', flags.listen ?? USUAL_LISTEN, '0.0.0.0', io);
  const control =
    flags.control === undefined
      ? 'none'
      : readAddress('--control', flags.control === true ? USUAL_CONTROL : flags.control, '127.0.0.1', io);
  const faults = readFaults(flags, io);
  if (!listen || !control || !faults) return EXIT.usage;
  try {
    await using simulator = await startSimulator({
      routers: flags.routers,
      clock: createSystemClock(),
      seed: flags.seed,
      listen,
      plainHttp: flags.plainHttp === true,
      clockOffsetMs: flags.clockOffset,
      logActivity: isRecorded ? 'manual' : 'live',
      bundles: flags.from,
      logLinesPerSecond: LINES_PER_SECOND * Math.min(1, LIVELY_ROUTERS / flags.routers),
      logs: chooseLogSettings(flags.routers),
      ...(control !== 'none' && { control }),
    });
    if (flags.caOut !== undefined) await writeOutputFile(flags.caOut, [Buffer.from(simulator.caPem)], CA_MODE);
    for (const { router, name } of faults) {
      for (const one of simulator.routers) if (router === undefined || one.name === router) await one.fault(name);
    }
    io.stdout.write(renderFleet(simulator, flags));
    if (!io.signal.aborted) await once(io.signal, 'abort');
    return EXIT.done;
  } catch (cause) {
    const code = cause instanceof SimulatorError ? cause.code : undefined;
    const hint = code === 'listen-failed' ? '. Choose other addresses with --listen and --control' : '';
    io.stderr.write(`The simulator could not start: ${renderErrorChain(cause)}${hint}\n`);
    return code === 'bad-option' ? EXIT.usage : EXIT.failed;
  }
}

/** The logs of many routers share the memory of one process, so their files are small. */
function chooseLogSettings(routers: number): LogSettings {
  const truthBytesMax = 0;
  if (routers > LIVELY_ROUTERS) return { ...demoLogSettings, truthBytesMax };
  return { ...demoLogSettings, maxSizeBytes: 64 * 1024, compressionMs: 3000, truthBytesMax };
}

/** `fallback`: host of an address without one. */
function readAddress(
  flag: string,
  text: string,
  fallback: string,
  io: CommandIo,
): { host: string; port: number } | undefined {
  const address = parseListenAddress(text);
  if (address) return { host: address.host ?? fallback, port: address.port };
  io.stderr.write(
    `${flag}: expected host:port, :port or [::1]:port, found ${describeHost(text) ?? JSON.stringify(text)}\n`,
  );
  return undefined;
}

function readFaults(
  { fault: faults, routers }: SimulateFlags,
  io: CommandIo,
): { router?: string; name: FaultName }[] | undefined {
  const parsed = faults.map((text) => {
    const [name = '', router] = text.split('=').toReversed();
    const number = /^sim-([1-9]\d*)$/.exec(router ?? 'sim-1')?.[1];
    if (!isFaultName(name) || text.split('=').length > 2) {
      io.stderr.write(
        `--fault: expected NAME or ROUTER=NAME, found ${JSON.stringify(text)}. Names: ${FAULT_NAMES.join(', ')}\n`,
      );
      return undefined;
    }
    if (Number(number ?? Infinity) > routers) {
      io.stderr.write(
        `--fault: there is no router ${JSON.stringify(router)}; with --routers ${routers}, the last one is sim-${routers}\n`,
      );
      return undefined;
    }
    return router === undefined ? { name } : { name, router };
  });
  return parsed.includes(undefined) ? undefined : parsed.flatMap((fault) => fault ?? []);
}

function renderFleet({ routers, controlUrl }: Simulator, { caOut, plainHttp, from }: SimulateFlags): string {
  const lines = routers.map(({ name, url, deviceType, serial, faults }, index) => {
    const what = from.length > 0 ? [`from ${from[index]}`] : [deviceType.padEnd(9), `serial ${serial}`];
    return [name.padEnd(8), url, ...what, faults.join(' ')].join('  ').trimEnd();
  });
  return `${lines.join('\n')}
API       <URL>/api/v2_0
Accounts  admin (readwrite), monitor (read), status (status); password of all: simulated
${plainHttp ? '' : `CA        ${caOut ?? 'not written; --ca-out FILE writes the certificate that clients have to trust'}\n`}${
  controlUrl === undefined ? '' : `Control   POST ${controlUrl}/control/<router>\n`
}Ctrl-C ends.
`;
}
