import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  type Config,
  type LoadOptions,
  loadConfig,
  renderEffectiveRouter,
  type WatchedFiles,
} from '../../src/config/index.ts';
import type { SourceOutcome } from '../../src/inventory/index.ts';
import { type ConfigFault, renderFault } from '../../src/settings/index.ts';

/** Folder of the modules that the product ships. */
export const SHIPPED_MODULES = fileURLToPath(new URL('../../src/status/modules', import.meta.url));

/** What `loadConfig` made of a text, with the folder cut out of everything that is compared. */
export interface Outcome {
  readonly config: Config | undefined;
  readonly faults: readonly ConfigFault[];
  /** The rendered faults. */
  readonly lines: readonly string[];
  readonly watched: WatchedFiles;
  readonly folder: string;
  /** What became of the answers of sources. */
  readonly sources?: readonly SourceOutcome[] | undefined;
  /** What is not as it should be. */
  readonly warnings?: readonly ConfigFault[] | undefined;
}

export interface Surroundings {
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Content by path relative to the configuration file. */
  readonly files?: Readonly<Record<string, string | Uint8Array>>;
  /** Folder of the credentials of systemd, relative to the configuration file. Default: none. */
  readonly credentials?: string;
  /** The folder of shipped modules is relative to the configuration file. */
  readonly options?: LoadOptions & { readonly shippedModules?: string };
}

/** Loads `text` as `router-exporter.yaml` from a folder of its own that is gone afterwards. */
export async function load(text: string | Uint8Array, around: Surroundings = {}): Promise<Outcome> {
  const folder = await mkdtemp(join(tmpdir(), 'router-exporter-config-'));
  try {
    for (const [name, content] of Object.entries(around.files ?? {})) {
      await mkdir(dirname(join(folder, name)), { recursive: true });
      await writeFile(join(folder, name), content);
    }
    const path = join(folder, 'router-exporter.yaml');
    await writeFile(path, text);
    const { shippedModules, ...options } = around.options ?? {};
    const loaded = await loadConfig(path, toEnvironment(around, folder), {
      ...options,
      shippedModules: shippedModules === undefined ? undefined : resolve(folder, shippedModules),
    });
    const { watched } = loaded;
    if (loaded.ok) {
      const { config, sources, warnings } = loaded;
      return { config, faults: [], lines: [], watched, folder, sources, warnings };
    }
    const lines = loaded.faults.map((fault) =>
      renderFault(fault).replaceAll(`${folder}/`, '').replaceAll(folder, 'FOLDER'),
    );
    return { config: undefined, faults: loaded.faults, lines, watched, folder };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** What is shown of a router. */
export function showRouter({ config, folder }: Outcome, name: string): string {
  const router = config?.routers.find((one) => one.name === name);
  return config && router ? renderEffectiveRouter(router, config.origins).replaceAll(`${folder}/`, '') : '';
}

function toEnvironment({ env, credentials }: Surroundings, folder: string) {
  return { ...env, ...(credentials !== undefined && { CREDENTIALS_DIRECTORY: join(folder, credentials) }) };
}

/** A sound configuration of one router, with `more` as further keys of the router. */
export function withRouter(more = '', url = 'https://192.0.2.10'): string {
  return `routers:\n  - name: plant-7\n    url: ${url}\n    username: monitor\n    password: pw\n${more.replace(/^(?=.)/gm, '    ')}\n`;
}

/** A self-signed certificate, valid until 2125. */
export const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBiTCCAS+gAwIBAgIUPWWts4w+PLTzyxX4uGSPEMqp79QwCgYIKoZIzj0EAwIw
GTEXMBUGA1UEAwwOdGVzdC1hdXRob3JpdHkwIBcNMjYxMTIxMTIxOTUyWhgPMjEy
NjEwMjgxMjE5NTJaMBkxFzAVBgNVBAMMDnRlc3QtYXV0aG9yaXR5MFkwEwYHKoZI
zj0CAQYIKoZIzj0DAQcDQgAEVVWZpgugY3ETeU/pV4A1pf/rP6S359YqKssEtAzF
us8qxdoPiaJsSxn8w10HbcHQPxJLpX3cR1J8+SB8cQwdBKNTMFEwHQYDVR0OBBYE
FLi8pLdFdrr/1xQj20dmIlWI5OdCMB8GA1UdIwQYMBaAFLi8pLdFdrr/1xQj20dm
IlWI5OdCMA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDSAAwRQIgIsAG+rx3
bTURnqOpFkpUaaBfF+m5ejadDpb3J7evpt8CIQC141Zm3wxXUfSa20okleTD4c27
h7UICIUL9EmiNfGMbg==
-----END CERTIFICATE-----
`;
