import { testSimulations } from './simulations.ts';

testSimulations(1);
