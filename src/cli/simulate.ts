import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createSystemClock, renderErrorChain } from '../base/index.ts';
import { parseListenAddress } from '../settings/index.ts';
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
import { type CommandIo, EXIT, type ExitCode } from './io.ts';

export interface SimulateFlags {
  readonly routers: number;
  /** `host:port` of the first router, the others follow; `undefined` for the usual one. */
  readonly listen: string | undefined;
  readonly seed: number;
  /** `host:port`, `true` for the usual one, `undefined` for no control port. */
  readonly control: string | true | undefined;
  /** `NAME` for every router or `ROUTER=NAME` for one. */
  readonly faults: readonly string[];
  readonly plainHttp: boolean;
  /** How far the routers' clocks are ahead. Milliseconds. */
  readonly clockOffsetMs: number;
  /** Where the certificate of the authority is written. */
  readonly caOut: string | undefined;
}

const USUAL_LISTEN = '127.0.0.1:9443';
/** One below the first router, because the others take the ports above it. */
const USUAL_CONTROL = '127.0.0.1:9442';
/** A fleet up to this size writes logs at full speed; a larger one shares what this many would write. */
const LIVELY_ROUTERS = 100;
const LINES_PER_SECOND = 9;

/** `simulate`: simulated routers and nothing else, until SIGTERM or SIGINT. */
export async function simulate(flags: SimulateFlags, io: CommandIo): Promise<ExitCode> {
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
      plainHttp: flags.plainHttp,
      clockOffsetMs: flags.clockOffsetMs,
      logActivity: 'live',
      logLinesPerSecond: LINES_PER_SECOND * Math.min(1, LIVELY_ROUTERS / flags.routers),
      logs: chooseLogSettings(flags.routers),
      ...(control !== 'none' && { control }),
    });
    if (flags.caOut !== undefined) await writeFile(flags.caOut, simulator.caPem);
    for (const { router, name } of faults) {
      for (const one of simulator.routers) if (router === undefined || one.name === router) await one.fault(name);
    }
    io.stdout.write(renderFleet(simulator, flags));
    if (!io.signal.aborted) await once(io.signal, 'abort');
    return EXIT.done;
  } catch (cause) {
    io.stderr.write(`The simulator could not start: ${renderErrorChain(cause)}\n`);
    return cause instanceof SimulatorError && cause.code === 'bad-option' ? EXIT.usage : EXIT.failed;
  }
}

/** Rotations every few minutes for a few routers; small files for many, whose logs all lie in this one memory. */
function chooseLogSettings(routers: number): LogSettings {
  const truthBytesMax = 0;
  if (routers > LIVELY_ROUTERS) return { ...demoLogSettings, truthBytesMax };
  return { ...demoLogSettings, maxSizeBytes: 64 * 1024, compressionMs: 3000, truthBytesMax };
}

/** `fallback` is the host of an address that names none. */
function readAddress(
  flag: string,
  text: string,
  fallback: string,
  io: CommandIo,
): { host: string; port: number } | undefined {
  const address = parseListenAddress(text);
  if (address) return { host: address.host ?? fallback, port: address.port };
  io.stderr.write(`${flag}: expected host:port, :port or [::1]:port, found ${JSON.stringify(text)}\n`);
  return undefined;
}

function readFaults(
  { faults, routers }: SimulateFlags,
  io: CommandIo,
): { router?: string; name: FaultName }[] | undefined {
  const parsed = faults.map((text) => {
    const [name = '', router] = text.split('=').toReversed();
    const number = /^sim-([1-9]\d*)$/.exec(router ?? 'sim-1')?.[1];
    const isKnown = isFaultName(name) && text.split('=').length <= 2 && Number(number ?? Infinity) <= routers;
    if (!isKnown) {
      io.stderr.write(
        `--fault: expected NAME or ROUTER=NAME, found ${JSON.stringify(text)}. Names: ${FAULT_NAMES.join(', ')}\n`,
      );
      return undefined;
    }
    return router === undefined ? { name } : { name, router };
  });
  return parsed.includes(undefined) ? undefined : parsed.flatMap((fault) => fault ?? []);
}

function renderFleet({ routers, controlUrl }: Simulator, { caOut, plainHttp }: SimulateFlags): string {
  const lines = routers.map(({ name, url, deviceType, serial, faults }) =>
    [name.padEnd(8), url, deviceType.padEnd(9), `serial ${serial}`, faults.join(' ')].join('  ').trimEnd(),
  );
  return `${lines.join('\n')}
API       <URL>/api/v2_0
Accounts  admin (readwrite), monitor (read), status (status); password of all: simulated
${plainHttp ? '' : `CA        ${caOut ?? 'not written; --ca-out FILE writes the certificate that clients have to trust'}\n`}${
  controlUrl === undefined ? '' : `Control   POST ${controlUrl}/control/<router>\n`
}Ctrl-C ends.
`;
}
