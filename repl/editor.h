/* SPDX-License-Identifier: MIT */
/* readline, which is loaded when a prompt begins on a terminal: programs that run need none of it, and loading it takes
 * a tenth of the time in which a short one starts. Its functions and variables are used by their own names. */
#ifndef ATLED_EDITOR_H
#define ATLED_EDITOR_H
#include <stdbool.h>
#include <stdio.h>
#include <readline/history.h>
#include <readline/readline.h>

/* Before all use of them. False: it can't be loaded, and a message says so. */
bool editor_load(void);

#define EDITOR_NAMES(X)                                                                                                \
  X(add_history)                                                                                                       \
  X(emacs_standard_keymap)                                                                                             \
  X(history_base)                                                                                                      \
  X(history_get)                                                                                                       \
  X(history_length)                                                                                                    \
  X(history_list)                                                                                                      \
  X(readline)                                                                                                          \
  X(rl_attempted_completion_function)                                                                                  \
  X(rl_attempted_completion_over)                                                                                      \
  X(rl_basic_quote_characters)                                                                                         \
  X(rl_basic_word_break_characters)                                                                                    \
  X(rl_bind_key_in_map)                                                                                                \
  X(rl_bind_keyseq_in_map)                                                                                             \
  X(rl_catch_signals)                                                                                                  \
  X(rl_clear_visible_line)                                                                                             \
  X(rl_completer_quote_characters)                                                                                     \
  X(rl_completion_append_character)                                                                                    \
  X(rl_completion_matches)                                                                                             \
  X(rl_completion_word_break_hook)                                                                                     \
  X(rl_deprep_terminal)                                                                                                \
  X(rl_done)                                                                                                           \
  X(rl_end)                                                                                                            \
  X(rl_filename_completion_desired)                                                                                    \
  X(rl_filename_completion_function)                                                                                   \
  X(rl_forced_update_display)                                                                                          \
  X(rl_get_screen_size)                                                                                                \
  X(rl_getc)                                                                                                           \
  X(rl_getc_function)                                                                                                  \
  X(rl_history_search_backward)                                                                                        \
  X(rl_history_search_forward)                                                                                         \
  X(rl_initialize)                                                                                                     \
  X(rl_insert_text)                                                                                                    \
  X(rl_last_func)                                                                                                      \
  X(rl_line_buffer)                                                                                                    \
  X(rl_newline)                                                                                                        \
  X(rl_outstream)                                                                                                      \
  X(rl_point)                                                                                                          \
  X(rl_prep_term_function)                                                                                             \
  X(rl_prep_terminal)                                                                                                  \
  X(rl_readline_name)                                                                                                  \
  X(rl_readline_state)                                                                                                 \
  X(rl_redisplay)                                                                                                      \
  X(rl_redisplay_function)                                                                                             \
  X(rl_startup_hook)                                                                                                   \
  X(rl_tty_set_echoing)                                                                                                \
  X(rl_variable_bind)                                                                                                  \
  X(rl_variable_value)                                                                                                 \
  X(stifle_history)                                                                                                    \
  X(using_history)                                                                                                     \
  X(vi_insertion_keymap)
/* Where readline has each. */
typedef struct Editor {
#define X(name) __typeof__(&name) name##_at;
  EDITOR_NAMES(X)
#undef X
} Editor;
extern Editor editor;

#ifndef EDITOR_LOADS
#define add_history                      (*editor.add_history_at)
#define emacs_standard_keymap            (*editor.emacs_standard_keymap_at)
#define history_base                     (*editor.history_base_at)
#define history_get                      (*editor.history_get_at)
#define history_length                   (*editor.history_length_at)
#define history_list                     (*editor.history_list_at)
#define readline                         (*editor.readline_at)
#define rl_attempted_completion_function (*editor.rl_attempted_completion_function_at)
#define rl_attempted_completion_over     (*editor.rl_attempted_completion_over_at)
#define rl_basic_quote_characters        (*editor.rl_basic_quote_characters_at)
#define rl_basic_word_break_characters   (*editor.rl_basic_word_break_characters_at)
#define rl_bind_key_in_map               (*editor.rl_bind_key_in_map_at)
#define rl_bind_keyseq_in_map            (*editor.rl_bind_keyseq_in_map_at)
#define rl_catch_signals                 (*editor.rl_catch_signals_at)
#define rl_clear_visible_line            (*editor.rl_clear_visible_line_at)
#define rl_completer_quote_characters    (*editor.rl_completer_quote_characters_at)
#define rl_completion_append_character   (*editor.rl_completion_append_character_at)
#define rl_completion_matches            (*editor.rl_completion_matches_at)
#define rl_completion_word_break_hook    (*editor.rl_completion_word_break_hook_at)
#define rl_deprep_terminal               (*editor.rl_deprep_terminal_at)
#define rl_done                          (*editor.rl_done_at)
#define rl_end                           (*editor.rl_end_at)
#define rl_filename_completion_desired   (*editor.rl_filename_completion_desired_at)
#define rl_filename_completion_function  (*editor.rl_filename_completion_function_at)
#define rl_forced_update_display         (*editor.rl_forced_update_display_at)
#define rl_get_screen_size               (*editor.rl_get_screen_size_at)
#define rl_getc                          (*editor.rl_getc_at)
#define rl_getc_function                 (*editor.rl_getc_function_at)
#define rl_history_search_backward       (*editor.rl_history_search_backward_at)
#define rl_history_search_forward        (*editor.rl_history_search_forward_at)
#define rl_initialize                    (*editor.rl_initialize_at)
#define rl_insert_text                   (*editor.rl_insert_text_at)
#define rl_last_func                     (*editor.rl_last_func_at)
#define rl_line_buffer                   (*editor.rl_line_buffer_at)
#define rl_newline                       (*editor.rl_newline_at)
#define rl_outstream                     (*editor.rl_outstream_at)
#define rl_point                         (*editor.rl_point_at)
#define rl_prep_term_function            (*editor.rl_prep_term_function_at)
#define rl_prep_terminal                 (*editor.rl_prep_terminal_at)
#define rl_readline_name                 (*editor.rl_readline_name_at)
#define rl_readline_state                (*editor.rl_readline_state_at)
#define rl_redisplay                     (*editor.rl_redisplay_at)
#define rl_redisplay_function            (*editor.rl_redisplay_function_at)
#define rl_startup_hook                  (*editor.rl_startup_hook_at)
#define rl_tty_set_echoing               (*editor.rl_tty_set_echoing_at)
#define rl_variable_bind                 (*editor.rl_variable_bind_at)
#define rl_variable_value                (*editor.rl_variable_value_at)
#define stifle_history                   (*editor.stifle_history_at)
#define using_history                    (*editor.using_history_at)
#define vi_insertion_keymap              (*editor.vi_insertion_keymap_at)
#endif
#endif
