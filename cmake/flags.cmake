# One place for what every target of this project is compiled with.
function(fl_compile_flags target)
    set_target_properties(${target} PROPERTIES
        C_STANDARD 17 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF C_VISIBILITY_PRESET hidden)
    target_compile_options(${target} PRIVATE
        -ffp-contract=off # a fused multiply-add rounds differently, and peers must agree to the bit
        # GCC on s390x computes float in double under -std=c17; clang never does, and knows no such flag
        $<$<C_COMPILER_ID:GNU>:-fexcess-precision=fast>
        -fno-math-errno   # same results; sqrt becomes one instruction instead of a call
        -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wstrict-prototypes
        -Wmissing-prototypes -Wvla -Wundef -Wcast-qual -Wdouble-promotion -Wformat=2
        $<$<BOOL:${MINGW}>:-Wno-float-conversion> # there isfinite() itself converts; elsewhere we are told
        $<$<BOOL:${FL_WERROR}>:-Werror>)
    target_compile_definitions(${target} PRIVATE $<$<CONFIG:Release>:FL_NO_ASSERT>)
    if(FL_SANITIZE)
        target_compile_options(${target} PRIVATE -fsanitize=${FL_SANITIZE} -fno-omit-frame-pointer
            -fno-sanitize-recover=all)
        target_link_options(${target} PRIVATE -fsanitize=${FL_SANITIZE})
    endif()
endfunction()
