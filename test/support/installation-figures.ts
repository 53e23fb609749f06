import { appendFileSync } from 'node:fs';

/** Commands of docs/install.md on the machine itself, and how long they took here. Milliseconds; none where only commands are known. */
interface Step {
  readonly commands: number;
  readonly ms?: number;
}

/** A way to install. `first`: from a machine without the program to `router_up` of a router. */
export interface Installation {
  readonly method: string;
  readonly first: Step;
  readonly upgrade: Step;
  readonly removal: Step;
}

/** Passes on what a test has measured, if tools/installation.ts runs it. */
export function recordInstallation(installation: Installation): void {
  const file = process.env['INSTALLATION_FIGURES'];
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(installation)}\n`);
}

/** Counts the commands of a block of the page. */
export function countCommands(text: string): number {
  return text
    .replaceAll('\\\n', ' ')
    .split('\n')
    .filter((line) => line.trim() !== '').length;
}

/** Measures one part after the other. */
export class StopWatch {
  #sinceMs = performance.now();

  /** Milliseconds since the start, or the last call. */
  lap(): number {
    const now = performance.now();
    const ms = now - this.#sinceMs;
    this.#sinceMs = now;
    return ms;
  }
}
