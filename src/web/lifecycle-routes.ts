import type { Handler, WebContext, WebDependencies } from './web-dependencies.ts';

const DISABLED = 'This is switched off. Start router-exporter with --web.enable-lifecycle to allow it.\n';
const CROSS_SITE = 'A page of another site asked for this, so it was not done.\n';

/** Creates the handlers of `POST /-/reload` and `POST /-/quit`. */
export function createLifecycleHandlers(dependencies: WebDependencies): Readonly<Record<'reload' | 'quit', Handler>> {
  const guard =
    (handle: Handler): Handler =>
    (context) => {
      if (!dependencies.isLifecycleEnabled) return context.text(DISABLED, 403);
      return isCrossSite(dependencies, context) ? context.text(CROSS_SITE, 403) : handle(context);
    };
  return {
    reload: guard(async (context) => {
      const result = await dependencies.content.reload();
      if (result.ok) return context.text('Reloaded.\n');
      return context.text(
        `The configuration could not be loaded; nothing was changed.\n${result.faults.join('\n')}\n`,
        500,
      );
    }),
    quit: guard((context) => {
      const { content } = dependencies;
      const outgoing = context.env.outgoing;
      // After the response was sent or the connection broke: either way the request was made.
      if (outgoing && !outgoing.closed) outgoing.once('close', () => content.quit());
      else queueMicrotask(() => content.quit());
      return context.text('Ending.\n');
    }),
  };
}

/**
 * Detects requests that a browser sends on behalf of a foreign page, because it adds the user's credentials by itself.
 * Programs send neither header and are let through.
 */
function isCrossSite({ externalUrl }: WebDependencies, context: WebContext): boolean {
  const site = context.req.header('sec-fetch-site');
  if (site !== undefined) return site !== 'same-origin' && site !== 'none';
  // Browsers send Sec-Fetch-Site only to trusted origins, which plain HTTP is not.
  const origin = context.req.header('origin');
  if (origin === undefined) return false;
  const host = URL.parse(origin)?.host;
  return host === undefined || (host !== context.req.header('host')?.toLowerCase() && host !== externalUrl?.host);
}
