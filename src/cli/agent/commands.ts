import { LIFECYCLE_STATES } from '../../model/index.ts';
import { collect, InvalidArgumentError, type Program } from '../options.ts';
import type { CommandIo, ExitCode } from '../terminal/io.ts';

/** Address of an agent on this machine. */
const AGENT_URL = 'http://localhost:9847';

/** States of a router in `fleet`: whether it answers, and what the operator wants of it. */
const STATES: readonly string[] = [...new Set(['up', 'down', 'budget', 'unknown', ...LIFECYCLE_STATES])];

/** Adds the commands that ask a running agent. */
export function addAgentCommands(program: Program, io: CommandIo, finish: (code: ExitCode) => void): void {
  program
    .command('fleet')
    .description('List the routers of a running agent with their states.')
    .option('--url <url>', 'address of the agent', AGENT_URL)
    .option('--state <state>', 'only routers in this state: up, down, maintenance, …; repeatable', collectState, [])
    .option('--token-file <file>', 'file with a bearer token of the agent')
    .option('--username <name>', 'user of the agent; requires --password-file')
    .option('--password-file <file>', 'file with the password of the user')
    .option('--ca-file <file>', 'PEM file with the authorities that the certificate of the agent may be of')
    .option('--json', 'for programs: the entries of /api/v1/routers')
    .action(async (options) => {
      const { fleet } = await import('./fleet.ts');
      const flags = {
        url: options.url,
        states: options.state,
        tokenFile: options.tokenFile,
        username: options.username,
        passwordFile: options.passwordFile,
        caFile: options.caFile,
        isJson: options.json === true,
      };
      finish(await fleet(flags, io));
    });
}

function collectState(state: string, earlier: readonly string[]): readonly string[] {
  if (!STATES.includes(state)) throw new InvalidArgumentError(`Expected one of ${STATES.join(', ')}.`);
  return collect(state, earlier);
}
