//! Runs blocking code on a coroutine, so that each of its system calls is a step.
