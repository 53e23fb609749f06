import { MANUAL_ACTION_OPTIONS, MANUAL_ACTION_TYPES, type ManualAction } from '../../router/index.ts';
import { findNearest } from '../../settings/index.ts';
import type { ConfigFlags } from '../configuration.ts';
import { confirm } from '../terminal/confirm.ts';
import { type CommandIo, EXIT, type ExitCode, writeResult } from '../terminal/io.ts';
import { withRouter } from './connect.ts';
import { parseKeyValues } from './key-values.ts';

/** Options of `action`. */
interface ActionFlags extends ConfigFlags {
  /** Name of the router. */
  readonly router: string;
  /** Type of the manual action. */
  readonly type: string;
  /** Options of the action as `key=value`. */
  readonly options: readonly string[];
  /** True to skip the confirmation (`--yes`). */
  readonly isAgreed: boolean;
}

/** `action`: has a router carry out one manual action. It is sent once: after a failure, it may have been carried out. */
export async function action(flags: ActionFlags, io: CommandIo): Promise<ExitCode> {
  const parsed = parseAction(flags);
  if (typeof parsed === 'string') {
    io.stderr.write(`error: ${parsed}\n`);
    return EXIT.usage;
  }
  const { router, type, options } = flags;
  const refusal = await confirm(`Have ${router} carry out ${[type, ...options].join(' ')}?`, flags.isAgreed, io);
  if (refusal !== undefined) return refusal;
  return withRouter(flags, router, io, async ({ client }) => {
    await client.performAction(parsed, io.signal);
    await writeResult(`${router} has accepted ${type}\n`, io);
    return EXIT.done;
  });
}

/** Returns the action, or what is wrong with it. Values are for the router to check. */
function parseAction({ type, options: pairs }: ActionFlags): ManualAction | string {
  const known = MANUAL_ACTION_TYPES.find((one) => one === type);
  if (known === undefined) {
    const nearest = findNearest(type, MANUAL_ACTION_TYPES);
    const hint = nearest ? `did you mean ${nearest}?` : `expected one of ${MANUAL_ACTION_TYPES.join(', ')}`;
    return `unknown action ${JSON.stringify(type)}; ${hint}. Send others with api POST /operation`;
  }
  const options = parseKeyValues('--option', pairs);
  if (typeof options === 'string') return options;
  const names = Object.entries<boolean>(MANUAL_ACTION_OPTIONS[known]);
  const allowed = names.map(([name, isRequired]) => (isRequired ? name : `${name} (optional)`)).join(', ');
  const takes = allowed === '' ? `${type} takes no options` : `${type} takes ${allowed}`;
  const unknown = Object.keys(options).find((name) => !names.some(([one]) => one === name));
  if (unknown !== undefined) return `--option ${unknown}: ${takes}`;
  const missing = names.find(([name, isRequired]) => isRequired && options[name] === undefined);
  if (missing) return `--option ${missing[0]}=… is missing: ${takes}`;
  return { type: known, options } as ManualAction;
}
