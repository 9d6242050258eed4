/* SPDX-License-Identifier: MIT */
/* Reading entries: on a terminal by readline, one buffer for all of an entry; else line by line, with the same prompts.
 *
 * Enter ends the entry or adds a line to it, as entry.c says. The arrow keys up and down go to the line above and below
 * within the entry, and from its first and last line through the history, to entries that begin with what stands before
 * the cursor. Alt-Enter adds a line in any case. What is pasted comes into the buffer as it is.
 *
 * readline shows a buffer of several lines, but no prompt before the second one: it is given a copy in which the prompt
 * stands behind each end of a line. An interrupt gives the entry up.
 *
 * readline has no colours for what is typed. So an entry that is finished is erased and written again in colours, if
 * all of it is in the window. Commands stay as they are. */
#define _GNU_SOURCE /* ppoll */
#include "line.h"
#include "colours.h"
#include "completion.h"
#include "editor.h"
#include "entry.h"
#include "repl.h"
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

enum { LONG_TEXT = 4096 /* bytes */, PAUSE_MS = 20, MANY = 64 /* bytes that wait */, NARROW = 8 /* columns */ };
enum { CONTROL_C = 3, ABORT = 7, CONTROL_Z = 26 };
static const char first_prompt[] = "∇ ", next_prompt[] = "… ";
/* readline's callbacks and signal handlers take no argument; there is one prompt in the process. */
static AtledVM *reader_vm;
static bool on_terminal, lines_typed, in_colour;
static char *start_text;
static volatile sig_atomic_t line_interrupted;

/* ---- Display ------------------------------------------------------------------------------------ */
/* The buffer with the prompt behind each end of a line; *point: where the byte that was there is now. */
static char *with_prompts(int *point, int *end) {
  size_t lines = 0, n = 0, more = sizeof next_prompt - 1;
  for (int i = 0; i < rl_end; i++) lines += rl_line_buffer[i] == '\n';
  char *text = malloc((size_t)rl_end + lines * more + 1);
  if (!text) return NULL;
  for (int i = 0; i <= rl_end; i++) {
    if (i == rl_point) *point = (int)n;
    text[n++] = rl_line_buffer[i];
    if (i < rl_end && rl_line_buffer[i] == '\n') memcpy(text + n, next_prompt, more), n += more;
  }
  *end = (int)n - 1;
  return text;
}

static void redisplay(void) {
  int point = 0, end = 0;
  struct pollfd more = {.fd = STDIN_FILENO, .events = POLLIN};
  /* A long text that comes key by key is shown when all of it is there. */
  if (rl_end > LONG_TEXT && !rl_done && poll(&more, 1, PAUSE_MS) > 0) return;
  char *own = rl_line_buffer, *shown = memchr(own, '\n', (size_t)rl_end) ? with_prompts(&point, &end) : NULL;
  int own_point = rl_point, own_end = rl_end;
  if (shown) rl_line_buffer = shown, rl_point = point, rl_end = end;
  rl_redisplay();
  rl_line_buffer = own;
  rl_point = own_point;
  rl_end = own_end;
  free(shown);
}

/* ---- Keys ------------------------------------------------------------------------------------------ */
static int add_line(int count, int key) {
  (void)count;
  (void)key;
  rl_insert_text("\n");
  lines_typed = true;
  return 0;
}

static void indent_last_line(void) {
  int at = (int)(entry_last_line(rl_line_buffer) - rl_line_buffer), point = rl_point;
  rl_point = at;
  rl_insert_text(" ");
  rl_point = point >= at ? point + 1 : point;
}

/* Is all of the entry in the window, as far as is known? One line is for the next prompt. */
static bool is_in_window(void) {
  int lines, columns;
  const char *scrolls = rl_variable_value("horizontal-scroll-mode");
  rl_get_screen_size(&lines, &columns);
  int taken = columns >= NARROW ? screen_lines(rl_line_buffer, LINE_PROMPT_COLUMNS, columns) : -1;
  return taken >= 0 && taken < lines && !(scrolls && strcmp(scrolls, "on") == 0);
}

/* Ends the entry, which then stands there in colours. False: it can't. */
static bool enter_in_colour(int key) {
  if (!in_colour || rl_line_buffer[0] == ':' || entry_is_blank(rl_line_buffer) || !is_in_window()) return false;
  char *text = coloured_text(reader_vm, rl_line_buffer, first_prompt, next_prompt);
  if (!text) return false;
  rl_clear_visible_line();
  fprintf(rl_outstream, "%s\n", text);
  free(text);
  int echoes = rl_tty_set_echoing(0); /* readline has nothing to show any more */
  rl_newline(1, key);
  rl_tty_set_echoing(echoes);
  return true;
}

static int enter(int count, int key) {
  if (lines_typed && entry_lacks_indent(reader_vm, rl_line_buffer)) indent_last_line();
  if (!entry_ends(reader_vm, rl_line_buffer, lines_typed)) return add_line(count, key);
  if (enter_in_colour(key)) return 0;
  rl_newline(1, key);
  rl_point = rl_end;
  redisplay();
  return 0;
}

static int line_start(int at) {
  while (at > 0 && rl_line_buffer[at - 1] != '\n') at--;
  return at;
}

static int line_end(int at) {
  while (at < rl_end && rl_line_buffer[at] != '\n') at++;
  return at;
}

/* As many characters behind `to` as `from` is behind the start of its line, at most to the end. */
static int same_column(int from, int to) {
  int end = line_end(to), column = 0;
  for (int i = line_start(from); i < from; i++) column += (rl_line_buffer[i] & 0xc0) != 0x80;
  while (to < end && (column > 0 || (rl_line_buffer[to] & 0xc0) == 0x80))
    column -= (rl_line_buffer[to++ + 1] & 0xc0) != 0x80;
  return to;
}

static int go_up(int count, int key), go_down(int count, int key);

/* Goes on through the history, or begins to, with the search for what stands before the cursor. */
static int search(rl_command_func_t *move, int count, int key) {
  bool goes_on = rl_last_func == go_up || rl_last_func == go_down;
  rl_last_func = goes_on ? rl_history_search_backward : NULL;
  lines_typed = false;
  return move(count, key);
}

static bool in_history(void) { return rl_last_func == go_up || rl_last_func == go_down; }

static int go_up(int count, int key) {
  int start = line_start(rl_point);
  if (start == 0 || in_history()) return search(rl_history_search_backward, count, key);
  rl_point = same_column(rl_point, line_start(start - 1));
  rl_last_func = NULL;
  return 0;
}

static int go_down(int count, int key) {
  int end = line_end(rl_point);
  if (end == rl_end || in_history()) return search(rl_history_search_forward, count, key);
  rl_point = same_column(rl_point, end + 1);
  return 0;
}

/* ---- Interrupts ------------------------------------------------------------------------------------ */
static void on_interrupt(int signal) {
  (void)signal;
  line_interrupted = 1;
}

static int give_up(int count, int key) {
  (void)count;
  line_interrupted = 1;
  rl_point = rl_end;
  redisplay();
  return rl_newline(1, key);
}

static int suspend(int count, int key) {
  (void)count;
  (void)key;
  rl_deprep_terminal();
  kill(0, SIGTSTP);
  rl_prep_term_function(1);
  rl_forced_update_display();
  return 0;
}

/* While an entry is edited Ctrl-C, Ctrl-Z, Ctrl-S are keys as others: in what is pasted they are text. */
static void prepare_terminal(int meta) {
  struct termios t;
  rl_prep_terminal(meta);
  if (tcgetattr(STDIN_FILENO, &t) != 0) return;
  t.c_lflag &= ~(tcflag_t)ISIG;
  t.c_iflag &= ~(tcflag_t)IXON;
  tcsetattr(STDIN_FILENO, TCSADRAIN, &t);
}

/* What is pasted comes in pieces: byte by byte the terminal would take longer for a megabyte than all else. What is
 * read beyond it are the next keys. */
static char pieces[1 << 12];
static ssize_t next_piece, end_of_pieces;

static int read_byte(FILE *stream) {
  int waiting = 0;
  if (next_piece < end_of_pieces) return (unsigned char)pieces[next_piece++];
  bool many = RL_ISSTATE(RL_STATE_MOREINPUT) && ioctl(fileno(stream), FIONREAD, &waiting) == 0 && waiting > MANY;
  next_piece = 0;
  end_of_pieces = many ? read(fileno(stream), pieces, sizeof pieces) : 0;
  return end_of_pieces > 0 ? (unsigned char)pieces[next_piece++] : rl_getc(stream);
}

/* The next byte. An interrupt that another process sends is Ctrl-C, too; it also ends searches and the questions of a
 * completion. SIGINT is delivered during the wait alone, so none is missed. */
static int read_key(FILE *stream) {
  struct pollfd p = {.fd = fileno(stream), .events = POLLIN};
  sigset_t none;
  sigemptyset(&none);
  int ready = next_piece < end_of_pieces;
  while (!line_interrupted && !ready && (ready = ppoll(&p, 1, NULL, &none)) < 0 && errno == EINTR)
    if (ending_seen()) return EOF;
  int key = line_interrupted ? CONTROL_C : read_byte(stream);
  return key == CONTROL_C && RL_ISSTATE(RL_STATE_MOREINPUT) ? ABORT : key;
}

static void bind_keys(Keymap map) {
  rl_bind_key_in_map(CONTROL_C, give_up, map);
  rl_bind_key_in_map(CONTROL_Z, suspend, map);
  rl_bind_key_in_map('\r', enter, map);
  rl_bind_key_in_map('\n', enter, map);
  rl_bind_keyseq_in_map("\033\r", add_line, map);
  rl_bind_keyseq_in_map("\033\n", add_line, map);
  rl_bind_keyseq_in_map("\033[A", go_up, map);
  rl_bind_keyseq_in_map("\033OA", go_up, map);
  rl_bind_keyseq_in_map("\033[B", go_down, map);
  rl_bind_keyseq_in_map("\033OB", go_down, map);
}

/* ---- A terminal ------------------------------------------------------------------------------------ */
static int insert_start(void) {
  if (start_text) rl_insert_text(start_text);
  lines_typed = start_text != NULL;
  free(start_text);
  start_text = NULL;
  return 0;
}

/* Texts are UTF-8, whatever the locale says. */
static void use_utf8(void) {
  if (strcmp(nl_langinfo(CODESET), "UTF-8") == 0 || !setlocale(LC_CTYPE, "C.UTF-8")) return;
  rl_variable_bind("input-meta", "on");
  rl_variable_bind("output-meta", "on");
  rl_variable_bind("convert-meta", "off");
}

static void begin_terminal(void) {
  rl_readline_name = "atled";
  rl_catch_signals = 0;
  rl_outstream = output_terminal();
  bind_keys(emacs_standard_keymap);
  bind_keys(vi_insertion_keymap);
  rl_initialize();
  use_utf8();
  rl_redisplay_function = redisplay;
  rl_prep_term_function = prepare_terminal;
  rl_getc_function = read_key;
  rl_startup_hook = insert_start;
  completion_begin(reader_vm);
}

static Entry read_terminal(void) {
  struct sigaction action = {.sa_handler = on_interrupt}, before;
  sigset_t interrupts;
  sigemptyset(&action.sa_mask);
  sigemptyset(&interrupts);
  sigaddset(&interrupts, SIGINT);
  line_interrupted = 0;
  lines_typed = false;
  fflush(stdout);
  sigprocmask(SIG_BLOCK, &interrupts, NULL);
  sigaction(SIGINT, &action, &before);
  char *text = readline(first_prompt);
  sigaction(SIGINT, &before, NULL);
  sigprocmask(SIG_UNBLOCK, &interrupts, NULL);
  Entry e = {.text = text, .interrupted = line_interrupted, .typed = lines_typed};
  if (!e.interrupted) return e;
  free(text);
  e.text = NULL;
  return e;
}

/* ---- Anything else --------------------------------------------------------------------------------- */
static char *read_plain(const char *prompt) {
  size_t n;
  fputs(prompt, stdout);
  fflush(stdout);
  char *line = input_take(true, &n);
  if (!line || n == 0) {
    free(line);
    return NULL;
  }
  if (line[n - 1] == '\n') line[--n] = '\0';
  return escape_zeros(line, n);
}

/* text, an end of line, the line, indented if it would else begin an item; frees both. */
static char *join_lines(char *text, char *line) {
  size_t have = strlen(text), more = strlen(line);
  char *all = realloc(text, have + more + 3);
  if (!all) {
    free(text);
    free(line);
    return NULL;
  }
  all[have] = '\n';
  memcpy(all + have + 1, line, more + 1);
  if (entry_lacks_indent(reader_vm, all)) memmove(all + have + 2, all + have + 1, more + 1), all[have + 1] = ' ';
  free(line);
  return all;
}

static Entry read_lines(char *start) {
  Entry e = {.text = start ? start : read_plain(first_prompt), .typed = start != NULL};
  if (start && !*start) return e;
  while (e.text && (start || !entry_ends(reader_vm, e.text, e.typed))) {
    char *line = read_plain(next_prompt);
    if (!line) break;
    start = NULL;
    e.text = join_lines(e.text, line);
    e.typed = true;
  }
  return e;
}

/* ---- Both ------------------------------------------------------------------------------------------ */
void line_begin(AtledVM *vm, bool terminal) {
  reader_vm = vm;
  on_terminal = terminal;
  if (terminal) begin_terminal();
}

Entry line_read(char *start, bool colour) {
  in_colour = colour;
  if (!on_terminal) return read_lines(start);
  start_text = start;
  return read_terminal();
}
