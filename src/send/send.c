// The table of policies, and policies as text.
#include "policy.h"
#include "private.h"

#define EVERY_MAX 1000
#define PERCENT_MAX 100
#define BUDGET_EVERY 3.0 // of the papers' experiments

// ---------------------------------------------------------------- the table

const FlPolicy fl__policies[FL_SEND_POLICIES] = {
    [FL_SEND_BASE] = {.trigger = fl__base_trigger},
    [FL_SEND_SCHEDULE1] = {.trigger = fl__schedule_trigger,
                           .wake = fl__schedule_wake,
                           .compares = true},
    [FL_SEND_SCHEDULE2] = {.trigger = fl__schedule_trigger,
                           .wake = fl__schedule_wake,
                           .compares = true},
    [FL_SEND_PROBABILISTIC] = {.trigger = fl__probabilistic_trigger, .compares = true},
    [FL_SEND_DETERMINISTIC] = {.trigger = fl__deterministic_trigger,
                               .join = fl__deterministic_join,
                               .compares = true},
    [FL_SEND_EQUAL] = {.trigger = fl__equal_trigger,
                       .wake = fl__equal_wake,
                       .sent = fl__equal_sent,
                       .join = fl__equal_join,
                       .compares = true},
    [FL_SEND_FOCUS] = {.trigger = fl__focus_trigger, .sent = fl__focus_sent, .frames = true},
    [FL_SEND_FOCUS_EQUAL] = {.trigger = fl__focus_trigger, .sent = fl__focus_sent, .frames = true},
};

static const char *const names[FL_SEND_POLICIES] = {
#define ROW(name, word) [FL_SEND_##name] = word,
    FL_SEND_TABLE(ROW)
#undef ROW
};

const char *fl__send_name(FlSendPolicy policy)
{
    FL_ASSERT((int32_t)policy >= 0 && policy < FL_SEND_POLICIES);
    return names[policy];
}

// ---------------------------------------------------------------- settings

static double usual_every(FlSendPolicy policy)
{
    bool budget = policy == FL_SEND_PROBABILISTIC || policy == FL_SEND_DETERMINISTIC ||
                  policy == FL_SEND_EQUAL;
    return budget ? BUDGET_EVERY : 1.0;
}

FlSend fl_send_make(FlSendPolicy policy)
{
    FlSend send = {
        .policy = policy,
        .form = FL_FORM_MAIN,
        .weights = {1, 0, 0},
        .fairness_percent = policy == FL_SEND_EQUAL ? 50 : 0,
        .every = usual_every(policy),
        .share_cap = 1.0,
        .longest_ns = FL_SEC(1),
        .starvation_ns = fl__policy(policy)->frames ? FL_SEC(1) : FL_SEC(10),
    };
    return send;
}

static bool has_weights(FlSendPolicy policy)
{
    return policy == FL_SEND_PROBABILISTIC || policy == FL_SEND_DETERMINISTIC;
}

static bool form_fits(FlSendPolicy policy, FlSendForm form)
{
    return form == FL_FORM_MAIN || (policy == FL_SEND_SCHEDULE1 && form == FL_FORM_THESIS) ||
           (policy == FL_SEND_PROBABILISTIC && (form == FL_FORM_2005 || form == FL_FORM_FIXED)) ||
           (has_weights(policy) && form == FL_FORM_APPENDIX);
}

bool fl__send_valid(const FlSend *send)
{
    const FlSendWeights *w = &send->weights;
    bool whole = send->every == floor(send->every);
    return (int32_t)send->policy >= 0 && send->policy < FL_SEND_POLICIES &&
           form_fits(send->policy, send->form) && w->accumulated + w->recent + w->waiting > 0 &&
           send->fairness_percent <= PERCENT_MAX && send->every >= 1.0 &&
           send->every <= EVERY_MAX && (whole || send->policy != FL_SEND_BASE) &&
           send->share_cap >= 0.0 && send->share_cap <= 1.0 && send->longest_ns > 0 &&
           send->starvation_ns > 0;
}

// ---------------------------------------------------------------- text

typedef struct Words {
    char *at;
    char *end;
} Words;

static void put_word(Words *words, const char *word)
{
    while (*word != '\0' && words->at < words->end) {
        *words->at++ = *word++;
    }
    *words->at = '\0';
}

static void put_number(Words *words, const char *before, int32_t number)
{
    char digits[12];
    int32_t i = (int32_t)sizeof digits - 1;
    digits[i] = '\0';
    do {
        digits[--i] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    put_word(words, before);
    put_word(words, &digits[i]);
}

static const char *const form_words[] = {"", "-thesis", "-2005", "-fixed", "-appendix"};

void fl_send_text(const FlSend *send, char text[FL_SEND_TEXT_BYTES])
{
    FL_ASSERT(fl__send_valid(send));
    Words words = {text, text + FL_SEND_TEXT_BYTES - 1};
    put_word(&words, names[send->policy]);
    int32_t hundredths = (int32_t)(send->every * 100.0 + 0.5);
    if (hundredths != (int32_t)(usual_every(send->policy) * 100.0)) {
        put_number(&words, "/", hundredths / 100);
        if (hundredths % 100 != 0) {
            put_number(&words, ".", hundredths / 10 % 10);
        }
        if (hundredths % 10 != 0) {
            put_number(&words, "", hundredths % 10);
        }
    }
    put_word(&words, form_words[send->form]);
    const FlSendWeights *w = &send->weights;
    if (has_weights(send->policy) && !(w->accumulated == 1 && w->recent == 0 && w->waiting == 0)) {
        put_number(&words, "-", w->accumulated);
        put_number(&words, ",", w->recent);
        put_number(&words, ",", w->waiting);
    }
    if (send->policy == FL_SEND_EQUAL) {
        put_number(&words, "-", send->fairness_percent);
    }
}

// Takes `word` off the text if it begins with it.
static bool take_word(const char **text, const char *word)
{
    size_t length = strlen(word);
    if (strncmp(*text, word, length) != 0) {
        return false;
    }
    *text += length;
    return true;
}

// A number without sign or leading zeros, at most `limit`.
static bool take_number(const char **text, int32_t limit, int32_t *number)
{
    const char *at = *text;
    *number = 0;
    while (*at >= '0' && *at <= '9' && *number <= limit) {
        *number = *number * 10 + (*at++ - '0');
    }
    bool sound = at != *text && *number <= limit && !(**text == '0' && at != *text + 1);
    *text = at;
    return sound;
}

static bool take_weights(const char **text, FlSendWeights *weights)
{
    int32_t a, b, c;
    bool sound = take_number(text, UINT8_MAX, &a) && take_word(text, ",") &&
                 take_number(text, UINT8_MAX, &b) && take_word(text, ",") &&
                 take_number(text, UINT8_MAX, &c);
    if (sound) {
        FlSendWeights read = {(uint8_t)a, (uint8_t)b, (uint8_t)c};
        *weights = read;
    }
    return sound;
}

// A budget, with at most two decimals.
static bool take_every(const char **text, double *every)
{
    int32_t whole;
    if (!take_number(text, EVERY_MAX, &whole)) {
        return false;
    }
    *every = whole;
    if (!take_word(text, ".")) {
        return true;
    }
    double digit = 0.1;
    const char *first = *text;
    while (**text >= '0' && **text <= '9' && *text < first + 2) {
        *every += (*(*text)++ - '0') * digit;
        digit /= 10.0;
    }
    return *text != first;
}

// What follows the policy's word.
static bool take_settings(const char *text, FlSend *send)
{
    bool counts = send->policy != FL_SEND_SCHEDULE1 && send->policy != FL_SEND_SCHEDULE2 &&
                  !fl__policy(send->policy)->frames;
    if (take_word(&text, "/") && (!counts || !take_every(&text, &send->every))) {
        return false;
    }
    if (send->policy == FL_SEND_EQUAL) {
        int32_t percent;
        if (!take_word(&text, "-") || !take_number(&text, PERCENT_MAX, &percent)) {
            return false;
        }
        send->fairness_percent = (uint8_t)percent;
    }
    for (int32_t form = FL_FORM_THESIS; form <= FL_FORM_APPENDIX; form++) {
        if (take_word(&text, form_words[form])) {
            send->form = (FlSendForm)form;
            break;
        }
    }
    if (has_weights(send->policy) && take_word(&text, "-") &&
        !take_weights(&text, &send->weights)) {
        return false;
    }
    return *text == '\0' && fl__send_valid(send);
}

FlResult fl_send_parse(const char *text, FlSend *send)
{
    for (int32_t policy = 0; policy < FL_SEND_POLICIES; policy++) {
        const char *rest = text;
        if (!take_word(&rest, names[policy])) {
            continue;
        }
        *send = fl_send_make((FlSendPolicy)policy);
        if (take_settings(rest, send)) {
            return FL_OK;
        }
    }
    *send = fl_send_make(FL_SEND_BASE);
    return FL_NOT_FOUND;
}
