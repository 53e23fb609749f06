// For folders of the simulator: `../bzip2/` would name the agent's decoder, which the simulator shares no code with.
export { encodeBzip2 as encodeArchive } from './bzip2/encode.ts';
