import type { Clock } from '../base/index.ts';
import type { RouterSettings } from '../config/index.ts';
import type { OffsetEvidence, RouterTime } from '../logs/index.ts';
import type { RouterClient, RouterProbe, ShownCertificate } from '../router/index.ts';
import type { Step, StepRecorder } from './doctor-steps.ts';

/** What the doctor found out about a router beside whether it works. */
export interface Learnt {
  certificate?: ShownCertificate | undefined;
  /** As in `TLSv1.3`. */
  tlsVersion?: string | undefined;
  /** Group of the account, or that it may not read the configuration where its group stands. */
  account?: { readonly group: string } | 'no configuration' | undefined;
  logs?: { readonly components: number; readonly files: number; readonly unknown: number } | undefined;
  /** Whether log downloads can be asked for in part. */
  hasRanges?: boolean | undefined;
  /** Whether log downloads carry an entity tag. */
  hasEntityTags?: boolean | undefined;
  /** In which log downloads come compressed for the way, as in `gzip`. */
  encoding?: string | undefined;
  /** What the bytes of a rotated file are, as in `bzip2` or `text`. */
  archives?: string | undefined;
  /** What the newest rotation shows of the router's zone, and whose it is. */
  offset?: (OffsetEvidence & { readonly component: string }) | undefined;
  /** What the newest rotations of a few logs show, by component. */
  rotations?: ReadonlyMap<string, OffsetEvidence> | undefined;
  /** The router's local and UTC time, as it tells them in one answer. */
  time?: RouterTime | undefined;
  /** The router's clock minus this machine's, milliseconds; the router tells whole seconds. */
  clockOffsetMs?: number | undefined;
}

export interface RouterReport {
  readonly router: string;
  readonly url: string;
  readonly verdict: 'ok' | 'warning' | 'failed';
  readonly steps: readonly Step[];
  readonly learnt: Readonly<Learnt>;
  /** Milliseconds. */
  readonly durationMs: number;
  /** On the wire, TLS included. */
  readonly bytes: { readonly sent: number; readonly received: number };
}

/** What the stages work with. */
export interface Examination {
  readonly settings: RouterSettings;
  readonly client: RouterClient;
  readonly probe: RouterProbe;
  readonly recorder: StepRecorder;
  readonly learnt: Learnt;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Whether there is anywhere for log records to go. */
  readonly hasSinks: boolean;
  /** Makes a text of the router fit to be shown. */
  readonly clean: (text: string) => string;
}
