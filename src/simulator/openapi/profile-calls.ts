import { jsonAnswer, type PathCalls, queryParameter } from './call.ts';
import { choiceSchema, listSchema, objectSchema, schemaRef, textSchema } from './schema.ts';

/** The stored profiles, and how they are kept. */
export const profileListSchema = objectSchema({
  profiles: listSchema(schemaRef('ProfileFlags'), { minItems: 1 }),
  profile_mode: choiceSchema(['permanent']),
});

const list = (description: string) => jsonAnswer(description, schemaRef('ProfileList'));
const name = (parameter: string) => queryParameter(parameter, 'Name of a profile', textSchema({ minLength: 1 }), true);
const lines = listSchema(textSchema());
const file = { schema: textSchema({ format: 'binary' }) };

/** The list of stored profiles, what can be done with them, and their download. */
export const profileCalls: Readonly<Record<string, PathCalls>> = {
  '/profiles': {
    get: {
      summary: 'List the stored profiles',
      group: 'read',
      success: { 200: list('All profiles; the one activated last is running') },
      refusals: [],
    },
    post: {
      summary: 'Make a profile',
      description: 'It is a copy of the source, or has the values of a fresh router.',
      group: 'readwrite',
      requestBody: objectSchema({ profile: textSchema(), source: textSchema() }, ['source']),
      success: { 201: list('All profiles, with the new one') },
      refusals: [400, 404],
    },
    delete: {
      summary: 'Delete a profile that is not running',
      group: 'readwrite',
      parameters: [name('profile')],
      success: { 200: { description: 'The profile is gone' } },
      refusals: [400, 404],
    },
  },
  '/profiles/activate': {
    put: {
      summary: 'Make a profile the running one',
      group: 'readwrite',
      requestBody: objectSchema({ profile: textSchema() }),
      success: { 200: list('All profiles, with the named one running') },
      refusals: [400, 404, 500],
    },
  },
  '/profiles/rename': {
    put: {
      summary: 'Give a profile another name',
      group: 'readwrite',
      requestBody: objectSchema({ profile: textSchema(), new_name: textSchema() }),
      success: { 200: list('All profiles, with the new name') },
      refusals: [400, 404],
    },
  },
  '/profiles/compare': {
    get: {
      summary: 'Compare two profiles',
      group: 'read',
      parameters: [name('profile'), name('with')],
      success: {
        200: jsonAnswer(
          'The lines of the readable form that only one of the two has',
          objectSchema({ removed: lines, added: lines }),
        ),
      },
      refusals: [400, 404],
    },
  },
  '/download/profiles': {
    get: {
      summary: 'Download a profile',
      group: 'read',
      parameters: [
        name('profile'),
        queryParameter('format', 'An archive (tar), or readable text', choiceSchema(['binary', 'ascii'])),
      ],
      success: {
        200: {
          description: 'The profile, as a file',
          headers: { 'Content-Disposition': { schema: textSchema() } },
          content: { 'application/octet-stream': file, 'text/plain': { schema: textSchema() } },
        },
      },
      refusals: [400, 404],
    },
  },
};
