import { spawnSync } from 'node:child_process';
import { mkdirSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parse } from 'yaml';

/** A service as `docker-compose config` prints it, with what it takes from anchors and defaults. */
export interface ComposeService {
  readonly image?: string;
  readonly build?: { readonly context: string; readonly dockerfile: string };
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly ports?: readonly string[];
  readonly networks?: Readonly<Record<string, { readonly aliases?: readonly string[] } | null>>;
  readonly network_mode?: string;
  readonly read_only?: boolean;
  readonly restart?: string;
  /** `source:target:mode`; a source with a slash is a file or folder of this machine, else the name of a volume. */
  readonly volumes?: readonly string[];
}

export interface ComposeFile {
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly volumes: Readonly<Record<string, unknown>>;
  readonly networks: Readonly<Record<string, { readonly internal?: boolean }>>;
}

/** What `docker-compose config` says to files, of which later ones change earlier ones: the whole with everything filled in, or its complaint. */
export function checkComposeFile(...files: readonly string[]): {
  readonly file: ComposeFile | undefined;
  readonly complaint: string;
} {
  const args = [...files.flatMap((file) => ['-f', file]), 'config'];
  const { status, stdout, stderr } = spawnSync('docker-compose', args, { encoding: 'utf8' });
  return status === 0 && stderr === ''
    ? { file: parse(stdout) as ComposeFile, complaint: '' }
    : { file: undefined, complaint: `exit code ${status}: ${stderr}` };
}

export interface Mount {
  readonly source: string;
  readonly target: string;
  readonly isReadOnly: boolean;
  /** Whether the source is a volume of the engine rather than a path of this machine. */
  readonly isVolume: boolean;
}

export function listMounts(service: ComposeService): readonly Mount[] {
  return (service.volumes ?? []).map((text) => {
    const [source = '', target = '', mode] = text.split(':');
    return { source, target, isReadOnly: mode === 'ro', isVolume: !source.includes('/') };
  });
}

/** Lays the files and folders that a service mounts out below `folder`, as its container sees them below `/`. */
export function layOutMounts(service: ComposeService, folder: string): void {
  for (const { source, target, isVolume } of listMounts(service).toSorted(
    (a, b) => a.target.length - b.target.length,
  )) {
    const path = join(folder, target);
    mkdirSync(dirname(path), { recursive: true });
    if (isVolume) mkdirSync(path, { recursive: true });
    else symlinkSync(source, path);
  }
}
