"""Names of emoji the server knows: those people and agents react with.

A real server knows the whole gemoji list (about 1,900 names). Here stand the common ones; a
name that is missing is refused here and accepted there, never the other way round.
"""

_FACES = """
    grinning smiley smile grin laughing satisfied sweat_smile joy rofl slightly_smiling_face
    upside_down_face wink blush innocent heart_eyes star_struck kissing_heart yum stuck_out_tongue
    zany_face money_mouth_face hugs shushing_face thinking zipper_mouth_face raised_eyebrow
    neutral_face expressionless no_mouth smirk unamused roll_eyes grimacing lying_face relieved
    pensive sleepy sleeping mask nauseated_face dizzy_face exploding_head cowboy_hat_face
    partying_face sunglasses nerd_face monocle_face confused worried frowning_face open_mouth
    hushed astonished flushed pleading_face anguished fearful cry sob scream disappointed sweat
    weary tired_face yawning_face triumph rage pout angry smiling_imp skull hankey poop shit
    clown_face ghost alien space_invader robot see_no_evil hear_no_evil speak_no_evil
"""
_PEOPLE = """
    wave raised_hand ok_hand pinching_hand v crossed_fingers metal call_me_hand point_left
    point_right point_up point_up_2 point_down +1 thumbsup -1 thumbsdown fist fist_raised facepunch
    punch clap raised_hands open_hands handshake pray writing_hand muscle brain eyes eye ear tongue
    shrug facepalm raising_hand no_good ok_woman bow detective guard construction_worker
"""
_HEARTS = """
    heart orange_heart yellow_heart green_heart blue_heart purple_heart black_heart white_heart
    broken_heart two_hearts sparkling_heart revolving_hearts kiss 100 anger boom dizzy sweat_drops
    zzz speech_balloon thought_balloon
"""
_THINGS = """
    tada confetti_ball balloon gift trophy medal_sports 1st_place_medal 2nd_place_medal
    3rd_place_medal dart video_game game_die rocket airplane ship car bike construction
    rotating_light
    hourglass hourglass_flowing_sand watch alarm_clock stopwatch timer_clock calendar date
    bulb flashlight candle fire sparkles star star2 zap snowflake rainbow sunny cloud umbrella
    coffee tea beer beers cake pizza apple cookie popcorn birthday
    book books bookmark bookmark_tabs memo pencil pencil2 clipboard pushpin paperclip link scissors
    lock unlock key hammer wrench hammer_and_wrench gear toolbox magnet microscope telescope
    computer desktop_computer keyboard printer phone telephone email mailbox package inbox_tray
    outbox_tray envelope newspaper chart_with_upwards_trend chart_with_downwards_trend bar_chart
    mag mag_right loudspeaker mega bell no_bell microphone headphones camera movie_camera tv
    bug ant bee snail turtle dog cat mouse rabbit fox_face bear panda_face koala tiger lion cow pig
    frog monkey chicken penguin bird owl unicorn whale dolphin octopus
    seedling evergreen_tree palm_tree cactus four_leaf_clover maple_leaf mushroom rose sunflower
    earth_africa earth_americas earth_asia globe_with_meridians moon house office hospital
"""
_SIGNS = """
    white_check_mark heavy_check_mark ballot_box_with_check x negative_squared_cross_mark
    o no_entry no_entry_sign stop_sign warning question grey_question exclamation
    grey_exclamation bangbang interrobang heavy_plus_sign heavy_minus_sign recycle
    arrow_up arrow_down arrow_left arrow_right arrow_right_hook leftwards_arrow_with_hook
    arrows_counterclockwise repeat back end on soon top new free up cool ok sos information_source
    red_circle orange_circle yellow_circle green_circle large_blue_circle purple_circle
    white_circle black_circle checkered_flag triangular_flag_on_post white_flag rainbow_flag
    play_or_pause_button pause_button stop_button fast_forward rewind next_track_button
    zero one two three four five six seven eight nine keycap_ten 1234 abc hash
"""

SHORTCODES = frozenset(f"{_FACES} {_PEOPLE} {_HEARTS} {_THINGS} {_SIGNS}".split())
