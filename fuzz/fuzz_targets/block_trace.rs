#![cfg_attr(fuzzing, no_main)]
partita_fuzz::fuzz_binary!(block_trace);
