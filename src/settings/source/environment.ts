import type { ConfigFile } from './config-file.ts';
import type { KeyPath } from './fault.ts';

/** Variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** `$${` first, so that it escapes; `${` last, so that what is left of it is a mistake. */
const REFERENCE = /\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}|\$\{/g;

const CREDENTIALS_ADVICE = 'systemd sets it for a service with LoadCredential= or SetCredential=';

/**
 * Copies a value with `${NAME}` and `${NAME:-default}` replaced in every text; the default also replaces an empty variable, as
 * in a shell. Replacement is not recursive. A text with an unset variable is a fault, and is left out of the copy.
 */
export function fillIn(
  value: unknown,
  env: Environment,
  file: Pick<ConfigFile, 'faults' | 'secretKeys'>,
  path: KeyPath,
): unknown {
  if (typeof value === 'string') return value.includes('${') ? fillInText(value, env, file, path) : value;
  if (Array.isArray(value)) return value.map((item, index) => fillIn(item, env, file, [...path, index]));
  if (!isMap(value)) return value;
  const copy: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) {
    const itemPath = [...path, key];
    // An assignment would set the prototype instead.
    if (key === '__proto__') file.faults.add(itemPath, 'No key has this name', { aim: 'key' });
    else copy[key] = fillIn(item, env, file, itemPath);
  }
  return copy;
}

function fillInText(
  text: string,
  env: Environment,
  file: Pick<ConfigFile, 'faults' | 'secretKeys'>,
  path: KeyPath,
): string | undefined {
  const { faults, secretKeys } = file;
  const problems = new Set<string>();
  const filled = text.replaceAll(REFERENCE, (match, name?: string, fallback?: string) => {
    if (match === '$${') return '${';
    if (name === undefined) {
      problems.add(`Expected \${NAME} or \${NAME:-default}; write $\${ where the text itself has "\${"`);
      return '';
    }
    const found = Object.hasOwn(env, name) ? env[name] : undefined;
    if (fallback !== undefined) return found || fallback;
    if (found === undefined) {
      // In a password of several parts, what looks like a name may be a part of the password.
      const isPerhapsSecret = secretKeys.isSecret(path) || (secretKeys.isSensitive(path) && text.includes('?'));
      const isNameable = match === text || !isPerhapsSecret;
      const advice = name === 'CREDENTIALS_DIRECTORY' ? CREDENTIALS_ADVICE : `set it, or write \${${name}:-default}`;
      problems.add(
        isNameable
          ? `The environment variable ${name} is not set; ${advice}`
          : `An environment variable in this text is not set; write $\${ where the text itself has "\${"`,
      );
    }
    return found ?? '';
  });
  for (const problem of problems) faults.add(path, problem);
  return problems.size === 0 ? filled : undefined;
}

/** True for a YAML map, false for the other objects that YAML tags can create. */
export function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}
