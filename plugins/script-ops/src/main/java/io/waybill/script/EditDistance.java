package io.waybill.script;

/** Edit distance of two names: the number of letters to insert, delete or replace. */
final class EditDistance {

    private EditDistance() {}

    /** Returns the distance, or any number above {@code worst} if it is greater than {@code worst}. */
    static int between(String from, String to, int worst) {
        if (Math.abs(from.length() - to.length()) > worst) {
            return worst + 1;
        }
        int[] above = new int[to.length() + 1];
        int[] row = new int[to.length() + 1];
        for (int j = 0; j < above.length; j++) {
            above[j] = j;
        }
        for (int i = 1; i <= from.length(); i++) {
            row[0] = i;
            for (int j = 1; j <= to.length(); j++) {
                int replaced = above[j - 1] + (from.charAt(i - 1) == to.charAt(j - 1) ? 0 : 1);
                row[j] = Math.min(replaced, 1 + Math.min(above[j], row[j - 1]));
            }
            int[] swap = above;
            above = row;
            row = swap;
        }
        return above[to.length()];
    }
}
