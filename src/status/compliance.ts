import { createHash } from 'node:crypto';
import { z } from 'zod';
import { type Clock, parseJson } from '../base/index.ts';
import { type FamilyDescription, RouterReadError } from '../model/index.ts';
import { checked, name, type Settled, section } from '../settings/index.ts';
import { findRefusal, type ReaderContext, type ReaderReading, SilenceCount, type StatusReader } from './poller/ask.ts';

/** Each resource costs one request after a change, at most one a day. */
const RULES_MAX = 32;
const FIELDS_MAX = 8;
const NAME_CHARS_MAX = 128;
const VALUE_CHARS_MAX = 256;
const RESOURCE = 'the path of a resource of the configuration, such as administration/webinterface';
const FIELD = 'the name of a field, such as http_active';
const FIELDS = `the name of a field, or a list of at most ${FIELDS_MAX}, such as [active, http_active]`;
const VALUE = `text of at most ${VALUE_CHARS_MAX} characters (a number needs quotes)`;
const EXPECT = `a list of at most ${RULES_MAX} maps, each with "resource", "field" and "value"`;
const OWN_NAME = 'a name that no other item of the list has';

const field = checked({ description: '' }, FIELD, NAME_CHARS_MAX, (one) => /^[A-Za-z]\w*$/.test(one));

const ruleSchema = section('One field of the configuration, and its expected value.', {
  rule: name({
    description: 'Name: the label `rule`. Default: the last part of `resource`, a dot, and the first field.',
  }).optional(),
  resource: checked(
    { description: 'Resource of the configuration with single-valued fields.', kind: 'path' },
    RESOURCE,
    NAME_CHARS_MAX,
    (path) => /^[a-z]\w*(\/[a-z]\w*)+$/i.test(path),
  ),
  field: z
    .union([field, z.array(field).min(1, { error: FIELDS }).max(FIELDS_MAX, { error: FIELDS })], { error: FIELDS })
    .meta({ description: 'Name of the field. Of several, the first one that the router has counts.', kind: 'names' }),
  value: z
    .string({ error: VALUE })
    .max(VALUE_CHARS_MAX, { error: VALUE })
    .meta({ description: 'Expected value, which is compared exactly. Not for secrets.', kind: 'text' }),
});

/** A rule of the key `expect`. */
export type ExpectedValue = Settled<z.output<typeof ruleSchema>>;

/** Schema of the key `expect` of a router. */
export const expectSchema = z
  .array(ruleSchema, { error: EXPECT })
  .max(RULES_MAX, { error: EXPECT })
  .superRefine((rules, context) => {
    const names = rules.map(toRuleName);
    for (const [index, one] of names.entries()) {
      if (names.indexOf(one) === index) continue;
      const message = `${OWN_NAME}; "${one}" is taken`;
      context.addIssue({ code: 'custom', message, path: [index, 'rule'] });
    }
  })
  .meta({
    description:
      'Expected values of the configuration, read again once its hash has changed, at most once a day. Replaces that of the layers below.',
    kind: 'list of maps',
  });

function toRuleName({ rule, resource, field: fields }: ExpectedValue): string {
  return rule ?? `${resource.slice(resource.lastIndexOf('/') + 1)}.${[fields].flat()[0]}`;
}

/** Family of the verdicts. */
export const CONFIG_EXPECTED: FamilyDescription = {
  name: 'router_config_expected',
  help: 'Whether a field of the configuration has the value that `expect` names; absent while that is unknown.',
  type: 'gauge',
};

const DAY_MS = 86_400_000;
const DIGEST_LENGTH = 8;
/** Verdicts of rules, one character each. */
const [PENDING, UNKNOWN, FORBIDDEN, SERVED] = ['?', '-', 'x', /[01]/] as const;

const readerState = z.object({
  /** Digest of the rules. */
  rules: z.string(),
  /** Digest of the hash of the configuration at the last reading; empty if the router does not report one. */
  hash: z.string(),
  /** Digest of the serial number of the device; empty if unknown. */
  serial: z.string(),
  /** Begin of the last reading. Milliseconds since the Unix epoch. */
  readMs: z.number(),
  verdicts: z.string().regex(/^[?x01-]*$/),
});

interface ComplianceReaderOptions {
  /** Rules with different names. */
  readonly rules: readonly ExpectedValue[];
  /** Reads the single-valued fields of a resource of the running profile. Errors as for a `DocumentSource`. */
  readonly readFields: (resource: string, signal: AbortSignal) => Promise<Readonly<Record<string, string>>>;
  /** Wall clock for the day between two readings, which outlasts a restart. */
  readonly clock: Clock;
  /** {@link ComplianceReader.state} of an earlier reader; any other text means a first contact. Default: none. */
  readonly previous?: string | undefined;
}

/**
 * Compares fields of the configuration with expected values. They are read at the first contact with a device, after a change of the rules, and at
 * most once a day after the hash of the configuration has changed, each resource once. Without a hash, and what could not be read, is
 * read every day. An aborted reading continues with the resources that it has not reached.
 */
export class ComplianceReader implements StatusReader {
  readonly #options: ComplianceReaderOptions;
  #state: string;

  constructor(options: ComplianceReaderOptions) {
    this.#options = options;
    this.#state = options.previous ?? '';
  }

  /** State for a new reader of this router: below 200 bytes. */
  get state(): string {
    return this.#state;
  }

  async read({ configHash, serialNumber }: ReaderContext, signal: AbortSignal): Promise<ReaderReading> {
    const { rules } = this.#options;
    const state = this.#begin(configHash, serialNumber);
    const verdicts = state.verdicts.split('');
    const silences = new SilenceCount();
    let isFromMemory = true;
    try {
      for (const { resource } of rules.filter((_, index) => verdicts[index] === PENDING)) {
        const isOpen = (index: number) => rules[index]?.resource === resource && verdicts[index] === PENDING;
        const open = [...verdicts.keys()].filter(isOpen);
        if (open.length === 0) continue;
        const fields = await this.#readFields(resource, silences, signal);
        isFromMemory &&= typeof fields === 'string';
        // An account without rights would be refused once for each resource, perhaps after a login.
        const isRefused = fields === FORBIDDEN && !verdicts.some((one) => SERVED.test(one));
        if (isRefused) verdicts.fill(FORBIDDEN);
        else
          for (const index of open) verdicts[index] = typeof fields === 'string' ? fields : judge(rules[index], fields);
      }
    } finally {
      this.#state = JSON.stringify({ ...state, verdicts: verdicts.join('') });
    }
    if (verdicts.every((one) => one === FORBIDDEN)) {
      const options = { disposition: 'operator', status: 403, isAnswered: true } as const;
      throw new RouterReadError('auth', 'The account may not read the configuration', options);
    }
    const samples = rules.flatMap((rule, index) =>
      SERVED.test(verdicts[index] ?? '')
        ? [{ labels: { rule: toRuleName(rule) }, value: Number(verdicts[index]) }]
        : [],
    );
    return { families: [{ ...CONFIG_EXPECTED, samples }], faults: [], isFromMemory };
  }

  /** Returns the state with what is to be read now as pending. */
  #begin(configHash: string | undefined, serial: string | undefined): z.output<typeof readerState> {
    const { rules, clock } = this.#options;
    const { data: known } = readerState.safeParse(parseJson(this.#state));
    const fresh = {
      rules: toDigest(JSON.stringify(rules)),
      hash: configHash === undefined ? '' : toDigest(configHash),
      serial: serial === undefined ? '' : toDigest(serial),
      readMs: clock.now(),
      verdicts: PENDING.repeat(rules.length),
    };
    if (known?.rules !== fresh.rules || known.verdicts.length !== rules.length) return fresh;
    if (fresh.serial !== '' && known.serial !== '' && fresh.serial !== known.serial) return fresh;
    const same = { ...known, serial: fresh.serial || known.serial };
    // The clock may have been set back.
    if (Math.abs(clock.now() - known.readMs) < DAY_MS) return same;
    if (fresh.hash === '' || fresh.hash !== known.hash) return fresh;
    const verdicts = known.verdicts.replaceAll(/[x-]/g, PENDING);
    return verdicts === known.verdicts ? same : { ...fresh, verdicts };
  }

  /** Returns why the fields cannot be read if the router works and only this resource fails. */
  async #readFields(resource: string, silences: SilenceCount, signal: AbortSignal) {
    try {
      const fields = await this.#options.readFields(resource, signal);
      silences.isGoneAfter(undefined);
      return fields;
    } catch (cause) {
      const isPutOff = cause instanceof RouterReadError && cause.retryAfterMs !== undefined;
      if (isPutOff || signal.aborted || silences.isGoneAfter(cause)) throw cause;
      return findRefusal(cause) === 'forbidden' ? FORBIDDEN : UNKNOWN;
    }
  }
}

function judge(rule: ExpectedValue | undefined, fields: Readonly<Record<string, string>>): string {
  const found = [rule?.field ?? []].flat().find((one) => Object.hasOwn(fields, one));
  return found === undefined ? UNKNOWN : String(Number(fields[found] === rule?.value));
}

function toDigest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, DIGEST_LENGTH);
}
