import { answerJson } from './cached-answer.ts';
import type { WebContent } from './content.ts';
import { parseRecordQuery } from './record-query.ts';
import { answerForOther } from './shards.ts';
import type { Handler } from './web-dependencies.ts';

/** Records shown with a router, and how much of each. */
const SHOWN_RECORDS = 20;
const SHOWN_CHARS = 240;

/** Creates the handlers of the last lines of the fleet and of one router. */
export function createRecordHandlers(content: WebContent): { readonly all: Handler; readonly router: Handler } {
  return {
    all: async (context) => answerJson(context, await content.readRecords(parseRecordQuery(context))),
    router: async (context) => {
      const router = context.req.param('name') ?? '';
      if (content.hasRouter(router)) {
        return answerJson(context, await content.readRecords({ ...parseRecordQuery(context), router }));
      }
      const path = `/api/v1/routers/${router}/records`;
      const elsewhere = answerForOther(content, context, router, path);
      return elsewhere ?? context.json({ error: 'No router of this name is configured' }, 404);
    },
  };
}

/** Reads the last records that are shown with a router. */
export async function readShownRecords(content: WebContent, router: string) {
  const query = { router, components: [], severities: [], search: '', limit: SHOWN_RECORDS };
  const { records } = await content.readRecords(query);
  return records.map(({ timestamp, component, severity, message }) => {
    return { timestamp, component, severity, message: message.slice(0, SHOWN_CHARS).toWellFormed() };
  });
}
