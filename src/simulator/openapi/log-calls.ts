import { type PathCalls, queryParameter } from './call.ts';
import { listSchema, objectSchema, textSchema } from './schema.ts';

const header = (name: string, description: string) => ({ name, in: 'header', description, schema: textSchema() });
const plain = { schema: textSchema() };
const bytes = { schema: textSchema({ format: 'binary' }) };
const answerHeader = { schema: textSchema() };
const disposition = { 'Content-Disposition': answerHeader };

/** The list of log files and their download. Ranges and entity tags count only on routers that have them. */
export const logCalls: Readonly<Record<string, PathCalls>> = {
  '/download/log': {
    get: {
      summary: 'List the log files, or download one of them',
      group: 'read',
      parameters: [
        {
          ...queryParameter('list_files', 'Lists the files, whatever its value', textSchema()),
          allowEmptyValue: true,
        },
        queryParameter('log_file', 'The file to download: a path from the list', textSchema({ minLength: 1 })),
        header('Range', 'One range of bytes'),
        header('If-Range', 'The entity tag that the range is meant for'),
        header('If-None-Match', 'The entity tag of what the client has'),
      ],
      success: {
        200: {
          description: 'The list, the text of a file that is being written, or a compressed file',
          headers: { ...disposition, ETag: answerHeader, 'Accept-Ranges': answerHeader },
          content: {
            'application/json': {
              schema: objectSchema({
                log_files: listSchema(textSchema({ pattern: '^[^/]+/[^/]+$' })),
              }),
            },
            'text/plain': plain,
            'application/octet-stream': bytes,
          },
        },
        206: {
          description: 'A part of the file',
          headers: { ...disposition, ETag: answerHeader, 'Content-Range': answerHeader },
          content: { 'text/plain': plain, 'application/octet-stream': bytes },
        },
        304: { description: 'The client has this very file', headers: { ETag: answerHeader } },
      },
      refusals: [400, 404, 416],
    },
  },
};
