import {
  choiceSchema,
  jsonAnswer,
  listSchema,
  objectSchema,
  type PathCalls,
  queryParameter,
  type Schema,
  schemaRef,
  textSchema,
} from './call.ts';

/** Schema of the list of stored profiles. */
export const profileListSchema = objectSchema({
  profiles: listSchema(schemaRef('ProfileFlags'), { minItems: 1 }),
  profile_mode: choiceSchema(['permanent']),
});

const mode = choiceSchema(['permanent']);
const activatedProfileSchema = objectSchema({
  name: textSchema({ minLength: 1 }),
  last_activated: { type: 'boolean' },
  modified: { type: 'boolean' },
  profile_mode: mode,
});
const template = choiceSchema(['running_profile', 'default_profile', 'stored_profile']);
const entries = (properties: Readonly<Record<string, Schema>>, optional: readonly string[] = []) =>
  objectSchema({ profiles: listSchema(objectSchema(properties, optional), { minItems: 1 }) });
const list = (description: string) => jsonAnswer(description, schemaRef('ProfileList'));
const name = (parameter: string) => queryParameter(parameter, 'Name of a profile', textSchema({ minLength: 1 }), true);
const lines = listSchema(textSchema());
const file = { schema: textSchema({ format: 'binary' }) };

/** Calls on stored profiles and their download. */
export const profileCalls: Readonly<Record<string, PathCalls>> = {
  '/profiles': {
    get: {
      summary: 'List the stored profiles',
      group: 'read',
      success: { 200: list('All profiles; the one activated last is running') },
      refusals: [],
    },
    post: {
      summary: 'Make profiles',
      description: 'Each is a copy of the running profile, of a stored one, or of that of a fresh router.',
      group: 'readwrite',
      requestBody: entries({ name: textSchema(), template, stored_profile_name: textSchema() }, [
        'template',
        'stored_profile_name',
      ]),
      success: { 201: list('All profiles, with the new ones') },
      refusals: [400],
    },
    delete: {
      summary: 'Delete profiles that are not running',
      group: 'readwrite',
      parameters: [
        queryParameter('profile_list', 'Names with commas between them', textSchema({ minLength: 1 }), true),
      ],
      success: { 200: { description: 'The profiles are gone' } },
      refusals: [400],
    },
  },
  '/profiles/activate': {
    put: {
      summary: 'Make a profile the running one',
      group: 'readwrite',
      requestBody: objectSchema({ profile: textSchema() }),
      success: { 200: jsonAnswer('The profile that is running now', activatedProfileSchema) },
      refusals: [400, 500],
    },
  },
  '/profiles/rename': {
    put: {
      summary: 'Give profiles other names',
      group: 'readwrite',
      requestBody: entries({ old_name: textSchema(), new_name: textSchema() }),
      success: { 200: list('All profiles, with the new names') },
      refusals: [400],
    },
  },
  '/profiles/compare': {
    get: {
      summary: 'Compare two profiles',
      group: 'read',
      parameters: [name('profile_left'), name('profile_right')],
      success: {
        200: jsonAnswer(
          'The lines of the readable form that only one of the two has',
          objectSchema({ removed: lines, added: lines }),
        ),
      },
      refusals: [400],
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
