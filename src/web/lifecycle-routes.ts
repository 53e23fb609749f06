import { isCrossSite } from './cross-site.ts';
import type { Handler, WebDependencies } from './web-dependencies.ts';

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
      const result = await dependencies.content.reload(context.req.query('accept_removals'));
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
