import type { Clock } from '../../base/index.ts';
import type { RouterSettings } from '../../config/index.ts';
import type { OffsetEvidence, RouterTime } from '../../logs/index.ts';
import type { RouterClient, RouterProbe, ShownCertificate } from '../../router/index.ts';
import type { Step, StepRecorder } from './steps.ts';

/** Facts about a router that the doctor collects on the way. */
export interface Learnt {
  /** Certificate of the TLS handshake. */
  certificate?: ShownCertificate | undefined;
  /** TLS version, such as `TLSv1.3`. */
  tlsVersion?: string | undefined;
  /** Group of the account, or that it may not read the configuration that contains it. */
  account?: { readonly group: string } | 'no configuration' | undefined;
  /** Number of logs, of their files, and of files with unknown names. */
  logs?: { readonly components: number; readonly files: number; readonly unknown: number } | undefined;
  /** True when log downloads support ranges. */
  hasRanges?: boolean | undefined;
  /** True when log downloads carry an entity tag. */
  hasEntityTags?: boolean | undefined;
  /** Content encoding of log downloads, such as `gzip`. */
  encoding?: string | undefined;
  /** Format of a rotated file, such as `bzip2` or `text`. */
  archives?: string | undefined;
  /** UTC offset shown by the newest rotation, and the log it belongs to. */
  offset?: (OffsetEvidence & { readonly component: string }) | undefined;
  /** UTC offsets shown by the newest rotations of a few logs, by component. */
  rotations?: ReadonlyMap<string, OffsetEvidence> | undefined;
  /** The router's local and UTC time, from one response. */
  time?: RouterTime | undefined;
  /** The router's clock minus this machine's, in milliseconds; the router's resolution is 1 s. */
  clockOffsetMs?: number | undefined;
}

/** The doctor's result for one router. */
export interface RouterReport {
  /** Configured name. */
  readonly router: string;
  /** Configured address. */
  readonly url: string;
  /** The worst verdict of the steps. */
  readonly verdict: 'ok' | 'warning' | 'failed';
  /** All steps in order. */
  readonly steps: readonly Step[];
  /** Facts collected on the way. */
  readonly learnt: Readonly<Learnt>;
  /** Total duration in milliseconds. */
  readonly durationMs: number;
  /** Bytes on the wire, TLS included. */
  readonly bytes: { readonly sent: number; readonly received: number };
}

/** The dependencies of the doctor's stages. */
export interface Examination {
  /** Settings of the router. */
  readonly settings: RouterSettings;
  /** Client of its REST interface. */
  readonly client: RouterClient;
  /** Tests name, TCP and TLS before the client connects. */
  readonly probe: RouterProbe;
  /** Collects the steps. */
  readonly recorder: StepRecorder;
  /** Facts collected so far; stages add to them. */
  readonly learnt: Learnt;
  /** Source of the current time and of timers. */
  readonly clock: Clock;
  /** Aborts when the command must end, or the router takes too long. */
  readonly signal: AbortSignal;
  /** True when a sink is configured. */
  readonly hasSinks: boolean;
  /** Removes secrets and control characters from a text of the router, and truncates it. */
  readonly clean: (text: string) => string;
}
