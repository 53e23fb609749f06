import type { ErrorCode } from 'yaml';

/**
 * Messages for errors of the YAML parser. The parser's own messages may quote the line, and with it a password.
 */
export const YAML_MESSAGES: Readonly<Record<ErrorCode, string>> = {
  ALIAS_PROPS: 'An alias (*name) cannot carry an anchor or a tag',
  BAD_ALIAS: 'The name of an anchor (&name) or alias (*name) is missing or not valid',
  BAD_COLLECTION_TYPE: 'The tag does not fit the value that follows; remove the tag',
  BAD_DIRECTIVE: 'The directive (a line that begins with "%") is not known; remove the line',
  BAD_DQ_ESCAPE: 'The escape after "\\" is not known; use single quotes to keep a backslash as it is',
  BAD_INDENT: 'The indentation does not fit the lines above, or a bracket is not closed',
  BAD_PROP_ORDER: 'Anchors and tags must stand directly before their value',
  BAD_SCALAR_START: 'A value cannot begin with this character; put the value in quotes',
  BLOCK_AS_IMPLICIT_KEY: 'A second colon or list on the same line; put the value in quotes or on a line of its own',
  BLOCK_IN_FLOW: 'Indented lines cannot stand inside "[ ]" or "{ }"',
  DUPLICATE_KEY: 'The key stands more than once in the same map; keep one of them',
  IMPOSSIBLE: 'This cannot be read as YAML',
  KEY_OVER_1024_CHARS: 'A key is longer than 1024 characters; is a colon or a quote missing?',
  MISSING_CHAR: 'A colon with a space after it, a comma, a bracket or a closing quote is missing here',
  MULTILINE_IMPLICIT_KEY: 'A key must be followed by a colon and a space on the same line',
  MULTIPLE_ANCHORS: 'A value can have one anchor only',
  MULTIPLE_DOCS: 'The file holds more than one YAML document; remove this line and merge what follows',
  MULTIPLE_TAGS: 'A value can have one tag only',
  NON_STRING_KEY: 'A key must be plain text',
  RESOURCE_EXHAUSTION: 'The values are nested too deeply',
  TAB_AS_INDENT: 'A tab cannot indent YAML; use spaces',
  TAG_RESOLVE_FAILED: 'The tag (a word that begins with "!") is not known here; remove it, or put the value in quotes',
  UNEXPECTED_TOKEN: 'This does not fit here; is a quote or a bracket missing, or one too many?',
};
