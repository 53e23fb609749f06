import { setFlagsFromString } from 'node:v8';
import { renderErrorChain } from './base/index.ts';
import { openFileOutput, runCli } from './cli/index.ts';

// V8 marks its whole heap whenever 64 MiB of buffers have been allocated since it last did, which with thousands of routers is
// every second. By default it looks for dead ones among the young only when these are 128 MiB; now at 32 MiB.
setFlagsFromString('--scavenger-max-new-space-capacity-mb=8');
// The space for young objects stays as small as it begins. V8 doubles it while the program starts, up to 32 MiB, which one router does not
// need and 1,000 routers pay for with memory rather than time (bench/RESULTS.md, Memory of the program as built).
setFlagsFromString('--semi-space-growth-factor=1');

/** The exit code of a process that a signal ended: 128 and the number of SIGTERM. */
const EXIT_KILLED = 143;

const stop = new AbortController();
for (const name of ['SIGTERM', 'SIGINT'] as const) {
  process.on(name, () => {
    if (stop.signal.aborted) process.exit(EXIT_KILLED);
    stop.abort();
  });
}
// Without a listener, Node.js opens its debugger on this signal. bin/ listens as well, before this module is loaded.
process.on('SIGUSR1', () => {});
// Ignore EPIPE on stderr: losing the log must not stop the agent.
process.stderr.on('error', () => {});
// Without this, a command that waits for something that does not keep the process alive would end silently with code 0.
process.once('beforeExit', () => {
  process.stderr.write('router-exporter: the command ended before it had a result; this is a fault of the program\n');
  process.exit(1);
});

try {
  const { stdin, stderr } = process;
  const stdout = openFileOutput(1) ?? process.stdout;
  const onHangup = (listener: () => void) => void process.on('SIGHUP', listener);
  process.exit(await runCli(process.argv.slice(2), { stdin, stdout, stderr, signal: stop.signal, onHangup }));
} catch (cause) {
  process.stderr.write(`router-exporter: ${renderErrorChain(cause)}\n`);
  process.exit(1);
}
