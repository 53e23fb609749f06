import { z } from 'zod';
import {
  type ConfigFile,
  type ConfigFiles,
  type ListenAddress,
  listenAddress,
  renderListenAddress,
  type SoundOf,
  section,
  text,
} from '../settings/index.ts';
import { readWebSecurity } from './load-web-config.ts';
import type { WebSecuritySettings } from './security.ts';

/** Unassigned in the Prometheus list of default exporter ports. */
const PORT_DEFAULT = 9847;
const AT_LEAST_ONE_LISTEN = `a list of addresses such as [":9847"]`;

/** The section `web`. */
export const webSectionSchema = section('The server for metrics and the status page.', {
  listen: z
    .array(listenAddress({ description: 'Address to listen on.' }), { error: AT_LEAST_ONE_LISTEN })
    .min(1, { error: AT_LEAST_ONE_LISTEN })
    .superRefine((addresses, context) => {
      for (const [index, { host, port }] of addresses.entries()) {
        const first = addresses.findIndex((other) => other.host === host && other.port === port);
        if (first === index || port === 0) continue;
        context.addIssue({ code: 'custom', path: [index], message: 'an address that is not in the list yet' });
      }
    })
    .meta({
      // A default here would be lost on the way to the reference, because the items are parsed.
      description: `Addresses to listen on: \`host:port\`, \`:port\` for every address, \`[::1]:port\`. Default: \`[":${PORT_DEFAULT}"]\`.`,
      kind: 'list of addresses',
    })
    .optional(),
  config_file: text({
    description:
      'File with TLS, client certificates, users and headers of the server, in the format of the Prometheus exporters.',
    kind: 'path',
  }).optional(),
});

/** The settings of the HTTP server. */
export interface WebSettings {
  /** Addresses to listen on. Default: port 9847 on every address. */
  readonly listen: readonly ListenAddress[];
  /** TLS, users and headers from `web.config_file`; absent without one. */
  readonly security?: WebSecuritySettings | undefined;
}

/** Reads the section, and the `web.config_file` that it names. */
export async function readWeb(
  main: ConfigFile,
  keys: SoundOf<typeof webSectionSchema> = {},
  files: ConfigFiles,
): Promise<WebSettings> {
  return {
    listen: keys.listen ?? [{ host: undefined, port: PORT_DEFAULT }],
    security: keys.config_file === undefined ? undefined : await readWebSecurity(main, keys.config_file, files),
  };
}

/** Renders the section with the content of its file inlined and secrets as `[secret]`. */
export function renderWeb({ listen, security }: WebSettings): object {
  return { listen: listen.map(renderListenAddress), config_file: security && renderSecurity(security) };
}

function renderSecurity({ tls, headers, users }: WebSecuritySettings): object {
  return {
    tls_server_config: tls && {
      cert_file: '[certificate]',
      key_file: tls.keyPem,
      client_auth_type: tls.clientAuth,
      client_ca_file: tls.clientCaPem && '[certificates]',
      client_allowed_sans: tls.clientAllowedSans,
      min_version: tls.minVersion,
      max_version: tls.maxVersion,
      cipher_suites: tls.cipherSuites,
    },
    http_server_config: { headers },
    basic_auth_users: Object.fromEntries([...users.keys()].map((user) => [user, '[secret]'])),
  };
}
