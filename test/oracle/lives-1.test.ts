import { testLives } from './lives.ts';

testLives(0);
