import { jsonAnswer, type PathCalls } from './call.ts';
import { objectSchema, schemaRef, textSchema } from './schema.ts';

/** Answer to a login or a refresh. */
export const tokensSchema = objectSchema({
  access: textSchema({ description: 'Authenticates all other calls for five minutes' }),
  refresh: textSchema({ description: 'Gives one new pair of tokens' }),
});

const token = 'The token stands in the header Authorization.';

/** Login, refresh and logout. */
export const authCalls: Readonly<Record<string, PathCalls>> = {
  '/auth/login': {
    post: {
      summary: 'Open a session',
      description: 'After a failed attempt the name is locked for some seconds.',
      group: undefined,
      requestBody: objectSchema({ username: textSchema(), password: textSchema() }),
      success: { 200: jsonAnswer('The tokens of the session', schemaRef('Tokens')) },
      refusals: [400],
    },
  },
  '/auth/refresh': {
    post: {
      summary: 'Exchange a refresh token',
      description: `${token} It counts once.`,
      group: 'status',
      success: { 200: jsonAnswer('New tokens of the same session', schemaRef('Tokens')) },
      refusals: [],
    },
  },
  '/auth/logout': {
    post: {
      summary: 'End a session',
      description: `${token} Either token of the session does.`,
      group: 'status',
      success: { 200: jsonAnswer('Neither token counts any more', objectSchema({})) },
      refusals: [],
    },
  },
};
