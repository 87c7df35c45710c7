//! Tuning without a device: the search on a bench that only pretends, and what is run to time and to check.

mod built;
mod kept;
mod sample;
mod search;

#[test]
fn dates_follow_the_calendar() {
    for (days, date) in [
        (0, "1970-01-01"),
        (58, "1970-02-28"),
        (59, "1970-03-01"),
        (11_016, "2000-02-29"),
        (11_017, "2000-03-01"),
        (20_787, "2026-11-30"),
        (47_540, "2100-02-28"),
        (47_541, "2100-03-01"),
        (22_279, "2030-12-31"),
        (22_280, "2031-01-01"),
    ] {
        assert_eq!(super::date(days), date);
    }
}
