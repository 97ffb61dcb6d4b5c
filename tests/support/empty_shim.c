// A library to preload where the real shim is not what is tested.
int rb_cli_test_shim(void);
int rb_cli_test_shim(void) { return 0; }
