import { validate } from 'node-cron';

/** Takes a cron expression of 5 or 6 fields that will come true; `undefined` when the text is none. */
export function parseSchedule(text: string): string | undefined {
  const expression = text.trim();
  const fieldCount = expression.split(/\s+/).length;
  return (fieldCount === 5 || fieldCount === 6) && validate(expression) ? expression : undefined;
}
