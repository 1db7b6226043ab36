//! The timeline for screen readers.

use super::track::Timeline;
use crate::form::escape;
use crate::units::{count, counted, duration, percent};

impl Timeline {
    /// What a screen reader says.
    pub(in crate::documents::html) fn label(&self) -> String {
        format!(
            "Timeline of {}: {} in {}. The table below it lists what each track holds.",
            duration(self.span_ns as f64),
            counted(self.events, "event"),
            counted(self.groups.len() as u64, "group")
        )
    }

    /// Notes on what is not shown, and every track as a row.
    pub(in crate::documents::html) fn tracks(&self) -> String {
        let mut html: String =
            self.notes.iter().map(|note| format!("<p class=\"note\">{}</p>\n", escape::text(note))).collect();
        html.push_str(
            "<details class=\"more\"><summary>Tracks as a table</summary>\n<div class=\"wide\" tabindex=\"0\" \
             role=\"region\" aria-label=\"tracks of the timeline\">\n<table class=\"plain\">\n<thead><tr>\
             <th scope=\"col\">track</th><th scope=\"col\" class=\"num\">events</th>\
             <th scope=\"col\" class=\"num\">time</th><th scope=\"col\" class=\"num\">share of span</th>\
             <th scope=\"col\" class=\"num\">left out</th><th scope=\"col\" class=\"num\">longest time</th>\
             <th scope=\"col\">longest event</th></tr></thead>\n",
        );
        for group in self.groups.iter().filter(|group| !group.tracks.is_empty()) {
            html.push_str(&format!(
                "<tbody>\n<tr><th scope=\"rowgroup\" colspan=\"7\">{}</th></tr>\n",
                escape::text(&group.title)
            ));
            for track in &group.tracks {
                let share = track.time_ns as f64 / self.span_ns.max(1) as f64;
                let (name, longest) = track.longest.clone().unwrap_or_default();
                html.push_str(&format!(
                    "<tr><th scope=\"row\">{}</th><td class=\"num\">{}</td><td class=\"num\">{}</td>\
                     <td class=\"num\">{}</td><td class=\"num\">{}</td><td class=\"num\">{}</td>\
                     <td class=\"name\">{}</td></tr>\n",
                    escape::text(&track.title),
                    count(track.events),
                    duration(track.time_ns as f64),
                    percent(share),
                    count(track.left_out),
                    duration(longest as f64),
                    escape::text(&name)
                ));
            }
            html.push_str("</tbody>\n");
        }
        html.push_str("</table>\n</div>\n</details>\n");
        html.push_str(&self.curves());
        html
    }

    /// What was measured over time, every curve as a row.
    fn curves(&self) -> String {
        if self.groups.iter().all(|group| group.curves.is_empty()) {
            return String::new();
        }
        let mut html = "<details class=\"more\"><summary>Values over time as a table</summary>\n\
             <div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"values over time\">\n\
             <table class=\"plain\">\n<thead><tr><th scope=\"col\">quantity</th>\
             <th scope=\"col\" class=\"num\">mean</th><th scope=\"col\" class=\"num\">lowest</th>\
             <th scope=\"col\" class=\"num\">highest</th><th scope=\"col\" class=\"num\">samples</th>\
             <th scope=\"col\" class=\"num\">time lost</th></tr></thead>\n"
            .to_owned();
        for group in self.groups.iter().filter(|group| !group.curves.is_empty()) {
            html.push_str(&format!(
                "<tbody>\n<tr><th scope=\"rowgroup\" colspan=\"6\">{}</th></tr>\n",
                escape::text(&group.title)
            ));
            for curve in &group.curves {
                html.push_str(&format!("<tr><th scope=\"row\">{}</th>", escape::text(&curve.title)));
                for cell in [
                    curve.shown(curve.mean),
                    curve.shown(curve.low),
                    curve.shown(curve.high),
                    count(curve.samples),
                    duration(curve.lost_ns() as f64),
                ] {
                    html.push_str(&format!("<td class=\"num\">{}</td>", escape::unsplit(&cell)));
                }
                html.push_str("</tr>\n");
            }
            html.push_str("</tbody>\n");
        }
        html.push_str("</table>\n</div>\n</details>\n");
        html
    }
}
